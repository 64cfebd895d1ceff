// The contents mark where the reader is, and folds open for the printer.
"use strict";
{
  const nav = document.querySelector("nav");
  const entries = [...nav.querySelectorAll("a")].map((link) => {
    return { link, heading: document.getElementById(link.getAttribute("href").slice(1)) };
  });

  const reveal = (link) => {
    const box = nav.getBoundingClientRect();
    const place = link.getBoundingClientRect();
    nav.scrollBy(place.left < box.left || place.right > box.right ? place.left - box.left - 24 : 0,
                 place.top < box.top || place.bottom > box.bottom ? place.top - box.top - box.height / 3 : 0);
  };

  // A narrow page lists sections only: what is hidden cannot be marked.
  const follow = () => {
    const listed = entries.filter(({ link }) => link.offsetParent);
    const passed = listed.filter(({ heading }) => heading.getBoundingClientRect().top < innerHeight / 4);
    const link = passed.at(-1)?.link;
    if (link?.hasAttribute("aria-current")) return;
    for (const other of entries) other.link.removeAttribute("aria-current");
    if (!link) return;
    link.setAttribute("aria-current", "location");
    reveal(link);
  };

  let waiting = false;
  addEventListener("scroll", () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; follow(); });
  }, { passive: true });

  let folded = [];
  addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("details:not([open])")];
    for (const fold of folded) fold.open = true;
  });
  addEventListener("afterprint", () => {
    for (const fold of folded) fold.open = false;
  });
}
