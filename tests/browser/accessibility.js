// What keeps people from reading a page or from being told of it: returns a list of texts, none if all is well.
// Rules of WCAG 2.2: 1.1.1 names of pictures, 1.3.1 labels and headings, 1.4.3 contrast, 2.4.2 title, 2.4.4 links,
// 3.1.1 language, 4.1.2 names of controls, and unique ids.
(() => {
  const faults = [];
  const shown = element => element.getClientRects().length > 0 && getComputedStyle(element).visibility !== "hidden";
  const named = element => (element.getAttribute("aria-label") || element.textContent || "").trim() !== "";
  if (!document.documentElement.lang) faults.push("the page has no language");
  if (!document.title.trim()) faults.push("the page has no title");
  if (document.querySelectorAll("h1").length !== 1) faults.push("there is not one h1");
  let last = 1;
  for (const heading of document.querySelectorAll("h1, h2, h3, h4")) {
    const level = Number(heading.tagName[1]);
    if (level > last + 1) faults.push(`heading skips a level: ${heading.textContent}`);
    last = level;
  }
  for (const link of document.querySelectorAll("a, button, summary"))
    if (!named(link)) faults.push(`without a name: ${link.outerHTML.slice(0, 80)}`);
  for (const picture of document.querySelectorAll("svg"))
    if (picture.getAttribute("role") !== "img" || !picture.getAttribute("aria-label"))
      faults.push(`picture without a name: ${picture.outerHTML.slice(0, 80)}`);
  for (const field of document.querySelectorAll("input, select"))
    if (!field.labels.length || !field.labels[0].textContent.trim()) faults.push(`field without a label: ${field.name}`);
  for (const region of document.querySelectorAll("[role=region], nav, section"))
    if (!region.getAttribute("aria-label") && !document.getElementById(region.getAttribute("aria-labelledby")))
      faults.push(`region without a name: ${region.outerHTML.slice(0, 80)}`);
  for (const head of document.querySelectorAll("th")) if (!head.scope) faults.push(`head without scope: ${head.textContent}`);
  const ids = [...document.querySelectorAll("[id]")].map(element => element.id);
  if (new Set(ids).size !== ids.length) faults.push("an id is there twice");

  // Colours as numbers, through a canvas: computed styles may be in any notation.
  const context = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const numbers = colour => {
    context.clearRect(0, 0, 1, 1); context.fillStyle = colour; context.fillRect(0, 0, 1, 1);
    return [...context.getImageData(0, 0, 1, 1).data];
  };
  const luminance = ([r, g, b]) => {
    const part = value => { value /= 255; return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4; };
    return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  };
  const behind = element => {
    for (let at = element; at; at = at.parentElement) {
      const colour = numbers(getComputedStyle(at).backgroundColor);
      if (colour[3] === 255) return colour;
    }
    return [255, 255, 255, 255];
  };
  const seen = new Set();
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some(node => node.nodeType === 3 && node.textContent.trim());
    if (!own || element.closest("svg") || !shown(element) || element.matches(".hidden, .skip, option")) continue;
    const style = getComputedStyle(element), front = luminance(numbers(style.color)), back = luminance(behind(element));
    const ratio = (Math.max(front, back) + 0.05) / (Math.min(front, back) + 0.05);
    const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && style.fontWeight >= 700);
    const key = `${element.tagName}.${element.className}`;
    if (ratio < (large ? 3 : 4.5) && !seen.has(key)) {
      seen.add(key);
      faults.push(`contrast ${ratio.toFixed(2)}: ${key} ${element.textContent.trim().slice(0, 40)}`);
    }
  }
  return faults;
})()
