// A page as a function of what is known: `h` describes an element, `patch` makes the document so, and touches
// nothing that is so already. What has the focus, is scrolled or selected stays as it is.

const SVG = "http://www.w3.org/2000/svg";
const DRAWN = new Set(["svg", "path"]);

/** Describe an element; children that are null, false or empty are left out. `key` tells siblings apart. */
export function h(tag, attributes, ...children) {
  const { key = null, ...rest } = attributes ?? {};
  return { tag, key, attributes: rest, children: children.flat(Infinity).filter((each) => each || each === 0) };
}

/** Make an element's children what is described. */
export function patch(parent, described) {
  const keyed = new Map();
  for (const node of parent.childNodes) if (node.described?.key != null) keyed.set(node.described.key, node);
  let place = parent.firstChild;
  for (const child of described) {
    const known = child.key == null ? place : keyed.get(child.key);
    const fits = known && isLike(known, child) && (child.key != null || known.described?.key == null);
    const node = fits ? known : made(child);
    if (node !== place) parent.insertBefore(node, place);
    else place = place.nextSibling;
    update(node, child);
  }
  while (place) {
    const next = place.nextSibling;
    place.remove();
    place = next;
  }
}

function isLike(node, described) {
  return described.tag ? node.described?.tag === described.tag : node.nodeType === Node.TEXT_NODE;
}

function made(described) {
  if (!described.tag) return document.createTextNode("");
  return DRAWN.has(described.tag) ? document.createElementNS(SVG, described.tag) : document.createElement(described.tag);
}

function update(node, described) {
  if (!described.tag) {
    if (node.data !== String(described)) node.data = described;
    return;
  }
  const before = node.described?.attributes ?? {};
  for (const name of Object.keys(before)) if (!(name in described.attributes)) assign(node, name, null);
  for (const [name, value] of Object.entries(described.attributes)) {
    if (before[name] !== value) assign(node, name, value);
  }
  node.described = described;
  patch(node, described.children);
}

function assign(node, name, value) {
  if (name.startsWith("on")) node[name] = value;
  else if (name === "value") { if (node.value !== value) node.value = value; }
  else if (name === "width") node.style.setProperty("--width", value);
  else if (value == null || value === false) node.removeAttribute(name);
  else node.setAttribute(name, value === true ? "" : value);
}
