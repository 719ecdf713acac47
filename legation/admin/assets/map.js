// The map: Gateway, listener, name, rule, backend, and what TLS must prove there.

import { h } from "./dom.js";
import { known, refused } from "./known.js";
import { go, here, link } from "./place.js";
import { GRADES, bar, count, grade, named, path, sign, until } from "./words.js";

const AT_ONCE = 100; // names that are drawn before somebody scrolls to more
const MOST_OPEN = 20; // names whose rules are asked for one by one

const turned = new Map(); // names that somebody opened or closed
const shown = new Map(); // how many names of a table are drawn

export function chosen() {
  const gateways = known("api/v1/map")?.gateways ?? [];
  return here().gateway || gateways[0]?.summary.name || "";
}

const chartOf = (gateway) => `api/v1/map/${gateway.split("/").map(encodeURIComponent).join("/")}`;

/** Name what the map needs to know. */
export function addresses() {
  const gateway = chosen();
  if (!gateway) return [];
  const opened = [...turned].filter(([, open]) => open).map(([key]) => key).slice(-MOST_OPEN);
  return [chartOf(gateway), ...opened.filter((key) => key.startsWith(`${chartOf(gateway)}/`))];
}

/** Draw the map. */
export function view() {
  const now = known("api/v1/map");
  if (!now) return [h("p", { class: "quiet" }, "Asking...")];
  if (!now.gateways.length) return [nothing(now)];
  const gateway = chosen();
  const chart = known(chartOf(gateway));
  return [
    h("nav", { class: "gateways", "aria-label": "Gateways", key: "gateways" }, now.gateways.map((each) => card(each, gateway))),
    h("div", { class: "chart", key: "chart" },
      chart ? drawn(chart, now.gateways.find((each) => each.summary.name === gateway))
        : h("p", { class: "quiet" }, refused(chartOf(gateway)) ?? "Asking...")),
  ];
}

function nothing(now) {
  const why = now.ready ? "No Gateway here is of a class of this controller." : "Nothing was read yet.";
  return h("div", { class: "empty" }, h("h2", {}, why),
    now.ready && h("p", {}, "Create a GatewayClass with controllerName ", h("code", {}, "legation.dev/gateway-controller"), " and a Gateway of it: it appears here."));
}

function card(each, gateway) {
  const { name, grades } = each.summary;
  const worst = each.conditions.find((one) => one.verdict === "bad" || one.verdict === "waiting");
  const state = worst ? [worst.verdict, worst.reason] : ["good", "Programmed"];
  return h("a", { key: name, href: link({ view: "map", gateway: name }), class: "card", "aria-current": name === gateway && "page" },
    h("strong", {}, name), h("span", { class: `state ${state[0]}` }, state[1]), bar(grades));
}

function drawn(chart, now) {
  const { landscape } = chart;
  const only = here().asked.get("grade");
  const counted = now?.summary.grades ?? {};
  return [
    h("header", { key: "head" },
      h("h1", {}, h("a", { href: open(landscape.gateway) }, now?.summary.name ?? "")),
      h("p", { class: "quiet" }, now?.bound.length ? `listens at ${now.bound.join(", ")}` : "listens nowhere"),
      envoysOf(now?.summary.name),
      (now?.conditions ?? []).filter((one) => one.verdict !== "good").map((one) =>
        h("p", { class: `remark ${one.verdict}`, key: one.type }, h("b", {}, one.reason), ` ${one.message}`)),
      landscape.shows && h("p", { class: "quiet" }, "shows backends the certificate of ", object(landscape.shows)),
      landscape.refusal && h("p", { class: "remark bad" }, h("b", {}, landscape.refusal.reason), ` TLS to every backend fails: ${landscape.refusal.message}`)),
    h("div", { class: "chips", role: "group", "aria-label": "Show one grade only", key: "chips" },
      Object.keys(GRADES).filter((each) => counted[each]).map((each) =>
        h("button", { key: each, class: `chip ${each}`, "aria-pressed": String(only === each), onclick: () => go({ grade: only === each ? null : each }, true) },
          sign(each), `${counted[each].toLocaleString("en")} ${GRADES[each][0]}`)),
      h("label", { class: "narrow" }, h("span", { class: "unseen" }, "Narrow to names and routes"),
        h("input", { type: "search", placeholder: "Narrow to names and routes", value: here().asked.get("name") ?? "", oninput: (event) => go({ name: event.target.value }, true) }))),
    landscape.ports.length ? landscape.ports.map((port) => portDrawn(port, chart)) : h("p", { class: "empty", key: "none" }, "No listener of this Gateway is served: its status says why."),
    landscape.collectors.length > 0 && h("section", { class: "port", key: "told" },
      h("h2", {}, "Told of requests"), h("div", { class: "lane" }, landscape.collectors.map((way, n) => wayDrawn(way, n, "is told nothing")))),
  ];
}

function envoysOf(gateway) {
  const found = known("api/v1/envoys")?.gateways.find((each) => each.gateway === gateway)?.envoys;
  if (!found) return null;
  const behind = found.filter((each) => !each.current).length;
  const rejected = found.filter((each) => each.lastNack).length;
  return h("p", { class: "quiet" }, h("a", { href: link({ view: "envoys" }) }, found.length ? count(found.length, "Envoy") : "No Envoy"), found.length ? ` connected here, ${behind ? `${behind} behind` : "current"}` : " is connected here",
    rejected > 0 && h("b", { class: "bad" }, ` · ${rejected} rejected what it was sent`));
}

function portDrawn(port, chart) {
  return h("section", { class: "port", key: port.name, "aria-label": `Port ${port.number} ${port.speaks}` },
    h("h2", {}, h("b", {}, `:${port.number}`), h("span", { class: "tag" }, port.speaks)),
    port.lanes.map((lane) => laneDrawn(port, lane, chart)));
}

function laneDrawn(port, lane, chart) {
  const ends = { ended: "TLS ends here", passed: "TLS passes through", none: "" }[lane.tls];
  const title = [lane.listener && `listener ${lane.listener}`, lane.tls !== "none" && (lane.serverName || "any name"), ends].filter(Boolean).join(" · ");
  const table = port.speaks !== "HTTP/3" && chart.tables.find((each) => each.table === lane.table);
  return h("div", { class: "lane", key: `${lane.listener}|${lane.serverName}|${lane.table}` },
    title && h("h3", {}, title),
    port.speaks === "HTTP/3" && h("p", { class: "quiet" }, "as over TLS, at the same port"),
    lane.asks.length > 0 && asked(lane.asks),
    lane.action && h("div", { class: "entry" },
      h("div", { class: "match" }, h("code", {}, "every connection"), lane.route && object(lane.route)),
      actionDrawn(lane.action)),
    table && tableDrawn(table, chart, !lane.listener));
}

function tableDrawn(table, chart, namesListeners) {
  const only = here().asked.get("grade");
  const text = (here().asked.get("name") ?? "").toLowerCase();
  const hosts = table.hosts.filter(({ host }) => (!only || host.grades[only]) && (!text || `${host.hostname} ${host.routes.join(" ")}`.toLowerCase().includes(text)));
  const limit = shown.get(table.table) ?? AT_ONCE;
  return [
    hosts.slice(0, limit).map((each) => hostDrawn(each, table, chart, namesListeners)),
    hosts.length > limit && h("button", { class: "more", key: " more", onclick: () => more(table.table, limit) }, `${count(hosts.length - limit, "more name")}: show the next`),
    !hosts.length && h("p", { class: "quiet", key: " none" }, table.hosts.length ? "No name here fits." : "No route is attached: every request is answered 404."),
    chart.leftOut > 0 && h("p", { class: "quiet", key: " out" }, `${count(chart.leftOut, "more name")}: search finds them.`),
  ];
}

function more(table, limit) {
  shown.set(table, limit + AT_ONCE);
  dispatchEvent(new Event("changed"));
}

function hostDrawn({ host, leads }, table, chart, namesListener) {
  const { gateway } = chart.landscape;
  const address = `${chartOf(`${gateway.namespace}/${gateway.name}`)}/leads?${new URLSearchParams({ table: table.table, host: host.hostname })}`;
  const isOpen = turned.get(address) ?? leads !== null;
  const found = leads ?? known(address);
  const turn = () => { turned.set(address, !isOpen); dispatchEvent(new Event("changed")); };
  return h("div", { class: "host", key: host.hostname },
    h("button", { class: "name", "aria-expanded": String(isOpen), onclick: turn },
      h("span", { class: "turner", "aria-hidden": "true" }), h("b", {}, host.hostname === "*" ? "any name" : host.hostname),
      h("span", { class: "quiet" }, [isOpen ? count(host.entries, "match", "matches") : listed(host.routes), namesListener && host.listener && `listener ${host.listener}`].filter(Boolean).join(" · ")), bar(host.grades)),
    isOpen && !host.entries && h("p", { class: "quiet none" }, "No route takes it: every request is answered 404."),
    isOpen && (found ? h("ol", { class: "entries" }, found.map((each, n) => entryDrawn(each, n))) : h("p", { class: "quiet" }, refused(address) ?? "Asking...")));
}

function listed(routes) {
  return routes.slice(0, 2).join(", ") + (routes.length > 2 ? `, ${routes.length - 2} more` : "");
}

function entryDrawn(leads, number) {
  const { asked: narrowed } = here();
  const only = narrowed.get("grade");
  return h("li", { class: only && !gradesOf(leads.action).has(only) ? "entry faint" : "entry", key: `${leads.author}|${leads.match}|${number}` },
    h("div", { class: "match" }, h("code", {}, leads.match),
      leads.route ? h("span", {}, object(leads.route), h("span", { class: "quiet" }, ` rule ${leads.rule}`)) : h("span", { class: "quiet" }, leads.author)),
    h("div", { class: "ways" }, leads.asks.length > 0 && asked(leads.asks), actionDrawn(leads.action)));
}

function asked(ways) {
  return h("div", { class: "asks", key: "asks" }, h("span", { class: "quiet" }, "asks first"), ways.map((way, n) => wayDrawn(way, n, "cannot be asked")));
}

function gradesOf(action) {
  switch (action.does) {
    case "forwards": return new Set([...action.ways, ...action.copies].map((way) => way.to?.proving.grade ?? "refused"));
    case "shares": return new Set(action.parts.flatMap((part) => [...gradesOf(part.action)]));
    case "redirects": return new Set();
    case "answers": return new Set(["refused"]);
  }
}

function actionDrawn(action, percent) {
  switch (action.does) {
    case "forwards": return h("div", { class: "ways" },
      action.ways.map((way, n) => wayDrawn(way, n, action.failure, percent ?? (action.ways.length > 1 ? way.percent : null))),
      action.copies.map((way, n) => wayDrawn(way, `copy ${n}`, "gets no copy", way.percent, "copy")));
    case "shares": return h("div", { class: "ways" }, action.parts.map((part, n) => h("div", { class: "ways", key: n }, part.asks.length > 0 && asked(part.asks), actionDrawn(part.action, part.percent))));
    case "redirects": return h("div", { class: "way" }, h("span", { class: "wire relayed" }), h("span", { class: "stop" }, `redirects with ${action.status}`));
    case "answers": return h("div", { class: "way" }, h("span", { class: "wire refused" }), h("span", { class: "stop bad" }, `answers ${action.status}: ${action.message}`));
  }
}

function wayDrawn(way, key, failure, percent = null, label = "") {
  const share = [label, percent === null ? "" : `${Math.round(percent * 100) / 100} %`].filter(Boolean).join(" ");
  const wire = (name) => h("span", { class: `wire ${name}` }, share && h("em", {}, share));
  if (!way.to) {
    return h("div", { class: "way", key }, wire("refused"), h("span", { class: "stop bad" }, grade("refused"), `${failure}: ${way.refusal.reason}: ${way.refusal.message}`));
  }
  const { to } = way;
  const { proving } = to;
  const where = to.endpoints === null ? `at ${to.dnsName}` : count(to.endpoints, "endpoint");
  const [ends, alarm] = proving.expires ? until(proving.expires) : ["", ""];
  return h("div", { class: "way", key }, wire(proving.grade),
    h("a", { class: `backend ${proving.grade}`, href: link({ object: path(to.service), way: to.cluster }) },
      h("span", { class: "where" }, h("b", {}, to.port), h("span", { class: to.endpoints === 0 ? "alarm" : "quiet" }, `${to.protocol}, ${where}`)),
      h("span", { class: "proof" }, grade(proving.grade),
        proving.grade !== "cleartext" && proving.grade !== "relayed" && h("span", { class: "what" }, proving.words),
        ends && h("span", { class: `when ${alarm || "quiet"}` }, `roots ${ends.replace("expires", "expire")}`)),
      proving.decidedBy && h("span", { class: "quiet by" }, `by ${named(proving.decidedBy)}`)));
}

/** Find how a backend is reached among what is known of the map. */
export function reached(cluster) {
  const gateway = chosen();
  const chart = known(chartOf(gateway));
  const entries = (chart?.tables ?? []).flatMap((table) => table.hosts.flatMap((each) => each.leads ?? []));
  const asked = addresses().slice(1).flatMap((address) => known(address) ?? []);
  const lanes = (chart?.landscape.ports ?? []).flatMap((port) => port.lanes);
  const ways = [...entries, ...asked].flatMap((each) => [...each.asks, ...waysOf(each.action)]);
  const direct = lanes.flatMap((lane) => [...lane.asks, ...(lane.action ? waysOf(lane.action) : [])]);
  return [...ways, ...direct, ...(chart?.landscape.collectors ?? [])].find((way) => way.to?.cluster === cluster)?.to;
}

function waysOf(action) {
  if (action.does === "forwards") return [...action.ways, ...action.copies];
  return action.does === "shares" ? action.parts.flatMap((part) => [...part.asks, ...waysOf(part.action)]) : [];
}

/** A link that opens an object beside what is shown. */
export function object(thing) {
  return h("a", { href: open(thing), class: "object" }, named(thing));
}

function open(thing) {
  return link({ object: path(thing), way: null });
}
