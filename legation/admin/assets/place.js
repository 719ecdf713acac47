// Where one is: a view, what is open beside it, and how it is narrowed; all of it stands in the address.

const VIEWS = ["map", "findings", "envoys", "trust", "audit"];

/** Read the address. */
export function here() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const [view, ...rest] = path.split("/");
  return {
    view: VIEWS.includes(view) ? view : "map",
    gateway: view === "map" && rest.length === 2 ? rest.map(decodeURIComponent).join("/") : "",
    asked: new URLSearchParams(query),
  };
}

/** Write an address like this one, with these differences; null takes a part away. */
export function link(changes = {}) {
  const { view, gateway, asked, ...narrowed } = { ...here(), ...changes };
  const query = new URLSearchParams(changes.view && changes.view !== here().view ? {} : asked);
  for (const [name, value] of Object.entries(narrowed)) {
    if (value == null || value === "") query.delete(name);
    else query.set(name, value);
  }
  const place = view === "map" && gateway ? `map/${gateway.split("/").map(encodeURIComponent).join("/")}` : view;
  const written = query.toString();
  return `#/${place}${written ? `?${written}` : ""}`;
}

/** Go there; `quietly` leaves no step to go back to. */
export function go(changes, quietly = false) {
  if (quietly) history.replaceState(null, "", link(changes));
  else location.hash = link(changes);
  dispatchEvent(new HashChangeEvent("hashchange"));
}

export { VIEWS };
