// Tables sort by a click on a header: numbers as numbers, then words, and what is missing always last. The first
// click puts the best first, so it descends where the header says ↑. Without scripts they are plain tables.
"use strict";
{
  const NUMBER = /^([+-]?)(∞|\d+(?:\.\d+)?(?:e[+-]?\d+)?)\s*(?:$|[±(%])/;
  const WORDS = new Intl.Collator("en", { numeric: true });

  const valueOf = (cell) => {
    const text = cell.textContent.trim();
    const plain = text.replace(/−/g, "-").replace(/(\d)[\u202f\u2009\u00a0](?=\d)/g, "$1");
    const found = NUMBER.exec(plain);
    if (found) return { rank: 0, number: Number(found[1] + found[2].replace("∞", "Infinity")) };
    return { rank: text === "" || text.startsWith("–") ? 2 : 1, text };
  };

  const compare = (a, b, sign) => {
    if (a.rank !== b.rank) return a.rank - b.rank;
    if (a.rank === 0) return a.number === b.number ? 0 : sign * (a.number < b.number ? -1 : 1);
    return a.rank === 1 ? sign * WORDS.compare(a.text, b.text) : 0;
  };

  // A dataset is printed once for its group of rows: out of order, each row must name it.
  const named = (rows) => {
    let name = null;
    return rows.map((row) => {
      const blank = row.cells[0].textContent.trim() === "";
      if (!blank) name = row.cells[0];
      return { row, first: row.cells[0], filled: blank && name ? name.cloneNode(true) : null };
    });
  };

  const order = (body, entries, sorted) => {
    for (const { row, first, filled } of entries) {
      const wanted = sorted && filled ? filled : first;
      if (row.cells[0] !== wanted) row.replaceChild(wanted, row.cells[0]);
      body.append(row);
    }
  };

  // Dataset and method stay in view, or the method alone where both would leave no room for numbers.
  const pin = (table, heads) => {
    const look = () => {
      const [first, second] = [heads[0].offsetWidth, heads[1].offsetWidth];
      table.style.setProperty("--first", `${first}px`);
      table.classList.toggle("tight", first + second > 0.6 * table.parentElement.clientWidth);
    };
    const watch = new ResizeObserver(look);
    [table.parentElement, heads[0]].forEach((one) => watch.observe(one));
  };

  const prepare = (table) => {
    const body = table.tBodies[0];
    const heads = [...table.tHead.rows[0].cells];
    if (!body || body.rows.length < 2) return;
    const entries = named([...body.rows]);
    const grouped = entries.some((entry) => entry.filled);
    table.classList.toggle("grouped", grouped);
    if (grouped) pin(table, heads);

    const reset = document.createElement("button");
    reset.type = "button";
    reset.className = "reset";
    reset.textContent = "Original order";
    reset.hidden = true;
    table.parentElement.after(reset);

    const mark = (chosen, way) => {
      for (const head of heads) head.removeAttribute("aria-sort");
      if (chosen) chosen.setAttribute("aria-sort", way);
      table.classList.toggle("sorted", chosen !== null);
      reset.hidden = chosen === null;
    };

    const sort = (head, place) => {
      const best = head.textContent.includes("↑") ? "descending" : "ascending";
      const other = { ascending: "descending", descending: "ascending" };
      const way = other[head.getAttribute("aria-sort")] || best;
      const sign = way === "ascending" ? 1 : -1;
      const key = ({ row, filled }) => valueOf(place === 0 && filled ? filled : row.cells[place]);
      const keyed = entries.map((entry) => ({ ...entry, key: key(entry) }));
      order(body, keyed.sort((a, b) => compare(a.key, b.key, sign)), true);
      mark(head, way);
    };

    heads.forEach((head, place) => {
      const button = document.createElement("button");
      button.type = "button";
      button.title = "Sort by this column";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => sort(head, place));
    });
    reset.addEventListener("click", () => {
      order(body, entries, false);
      mark(null);
      heads[0].firstElementChild.focus();
    });
  };

  // A box that holds more than it shows fades at its edge; one that does not scroll is no stop for the tab key.
  const hint = (box) => {
    const look = () => {
      box.classList.toggle("more", box.scrollLeft + box.clientWidth < box.scrollWidth - 4);
      box.tabIndex = box.scrollWidth > box.clientWidth ? 0 : -1;
    };
    box.addEventListener("scroll", look, { passive: true });
    new ResizeObserver(look).observe(box);
  };

  document.querySelectorAll("main table").forEach(prepare);
  document.querySelectorAll(".table").forEach(hint);
}
