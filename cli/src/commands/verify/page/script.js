// The search and the reading of the chart. All else stands in the page already. Text from the record is only ever set
// as text.
"use strict";
(() => {
  const record = JSON.parse(document.getElementById("record").textContent);
  const plural = (number, thing) => `${number.toLocaleString("en")} ${thing}${number === 1 ? "" : "s"}`;

  const search = () => {
    const box = document.getElementById("filter");
    if (!box) return;
    const shown = document.getElementById("shown");
    const rows = [...document.getElementById("list").children];
    const total = rows.length.toLocaleString("en");
    let texts;
    let shownBefore = rows.map(() => true);

    const filter = () => {
      // The path both as it is and as it is shown.
      texts ??= record.failures.map(({ path, path_bytes, status, reasons, detail }, at) => {
        const pathShown = rows[at].querySelector(".path").textContent;
        return [path, pathShown, path_bytes, status, ...reasons, detail].join("\n").toLowerCase();
      });
      const words = box.value.toLowerCase().split(/\s+/).filter((word) => word !== "");
      const matches = texts.map((text) => words.every((word) => text.includes(word)));
      matches.forEach((match, at) => {
        if (match !== shownBefore[at]) rows[at].hidden = !match;
      });
      shownBefore = matches;
      const number = matches.filter((match) => match).length;
      shown.textContent = `${number.toLocaleString("en")} of ${total}`;
      shown.dataset.shown = number;
      document.getElementById("no-match").hidden = number > 0;
    };
    box.addEventListener("input", filter);
    box.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      event.preventDefault();
      if (box.value === "") box.blur();
      box.value = "";
      filter();
    });
    document.addEventListener("keydown", (event) => {
      const writing = event.target instanceof Element && event.target.matches("input, textarea, select");
      if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || writing) return;
      event.preventDefault();
      box.focus();
      box.select();
    });
    document.getElementById("search").hidden = false;
    // A browser that restores the page restores what was searched for.
    if (box.value !== "") filter();
  };

  const chart = () => {
    const plot = document.getElementById("plot");
    if (!plot) return;
    const cursor = document.getElementById("cursor");
    const reading = document.getElementById("reading");
    const atRest = [...reading.childNodes];
    const rows = [...document.getElementById("intervals").tBodies[0].rows];
    const ends = rows.map((row) => Number(row.dataset.seconds));
    const last = ends.length - 1;
    let at = -1;

    const read = (index) => {
      at = Math.max(0, Math.min(last, index));
      const row = rows[at];
      const middle = ((at > 0 ? ends[at - 1] : 0) + ends[at]) / 2;
      const x = `${(100 * middle) / ends[last]}%`;
      cursor.setAttribute("x1", x);
      cursor.setAttribute("x2", x);
      const frames = plural(Number(row.dataset.frames), "frame");
      const failures = plural(Number(row.dataset.failures), "failure");
      const text = `Until ${row.cells[0].textContent}: ${row.cells[1].textContent}, ${frames}, ${failures}.`;
      reading.textContent = text;
      plot.setAttribute("aria-valuenow", at + 1);
      plot.setAttribute("aria-valuetext", text);
      plot.classList.add("reads");
    };
    const rest = () => {
      reading.replaceChildren(...atRest);
      plot.classList.remove("reads");
    };
    plot.addEventListener("pointermove", (event) => {
      const box = plot.getBoundingClientRect();
      const seconds = ((event.clientX - box.left) / box.width) * ends[last];
      const index = ends.findIndex((end) => end >= seconds);
      read(index < 0 ? last : index);
    });
    plot.addEventListener("pointerleave", () => (plot === document.activeElement ? read(at) : rest()));
    plot.addEventListener("focus", () => read(at));
    plot.addEventListener("blur", rest);
    plot.addEventListener("keydown", (event) => {
      const to = { ArrowRight: at + 1, ArrowUp: at + 1, ArrowLeft: at - 1, ArrowDown: at - 1, Home: 0, End: last };
      if (!(event.key in to)) return;
      event.preventDefault();
      read(to[event.key]);
    });
    plot.tabIndex = 0;
    plot.setAttribute("role", "slider");
    // A slider's content is not read out, so it takes over the chart's label.
    plot.setAttribute("aria-label", plot.querySelector("svg").getAttribute("aria-label"));
    plot.setAttribute("aria-valuemin", 1);
    plot.setAttribute("aria-valuemax", last + 1);
    plot.setAttribute("aria-valuenow", 1);
  };

  search();
  chart();
})();
