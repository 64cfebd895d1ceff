// Figures enlarge on a click, over the whole window; arrow keys lead to the others, Esc leads back.
"use strict";
{
  const dialog = document.querySelector("dialog");
  const stage = dialog.querySelector(".stage");
  const shown = dialog.querySelector("img");
  const caption = dialog.querySelector(".caption");
  const zoom = dialog.querySelector("[data-zoom]");
  const images = [...document.querySelectorAll("main img")];
  let current = 0;

  const magnify = (large) => {
    stage.classList.toggle("large", large);
    zoom.setAttribute("aria-pressed", String(large));
    stage.scrollTo(0, 0);
  };

  const show = (place) => {
    current = (place + images.length) % images.length;
    const image = images[current];
    const words = image.closest("figure")?.querySelector("figcaption");
    shown.src = image.src;
    shown.alt = image.alt;
    caption.replaceChildren(...(words ? words.cloneNode(true).childNodes : []));
    dialog.querySelector("output").textContent = `${current + 1} / ${images.length}`;
    magnify(false);
  };

  const flip = () => magnify(!stage.classList.contains("large"));

  images.forEach((image, place) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "enlarge";
    button.title = "Enlarge";
    image.replaceWith(button);
    button.append(image);
    button.addEventListener("click", () => {
      show(place);
      dialog.showModal();
    });
  });

  // Whoever walked on to another figure comes back to that one.
  const leave = () => {
    const fold = images[current].closest("details");
    if (!fold || fold.open) images[current].parentElement.focus();
  };

  dialog.addEventListener("close", leave);
  dialog.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (event.target === shown || button === zoom) flip();
    else if (button?.dataset.move) show(current + Number(button.dataset.move));
    else if (!event.target.closest(".caption, output")) dialog.close();
  });
  dialog.addEventListener("keydown", (event) => {
    const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === "z") flip();
    if (!move || stage.classList.contains("large")) return;
    event.preventDefault();
    show(current + move);
  });
}
