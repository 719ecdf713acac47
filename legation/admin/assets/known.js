// What is known: answers by their address, asked for again and again, and given out only where they differ.

const PERIOD = 1000; // milliseconds
const GONE = 404;
const MOST = 60; // answers that are kept for whoever comes back to them

const answers = new Map();
let told = () => {};
let wanted = () => [];
let lost = null;

/** Return the newest answer from an address, or undefined while there is none. */
export function known(address) {
  return answers.get(address)?.body;
}

/** Return why an address has no answer, in words. */
export function refused(address) {
  return answers.get(address)?.refusal;
}

/** Return since when nobody answers, or null. */
export function lostSince() {
  return lost;
}

/** Ask for what `addresses` names, now and from then on, and tell `changed` of every difference. */
export function follow(addresses, changed) {
  [wanted, told] = [addresses, changed];
  document.addEventListener("visibilitychange", () => document.hidden || ask());
  const again = async () => {
    try {
      if (!document.hidden) await ask();
    } finally {
      setTimeout(again, PERIOD);
    }
  };
  return again();
}

/** Ask for everything that is wanted, once. */
export async function ask() {
  const addresses = wanted();
  const changed = await Promise.all(addresses.map(renew));
  for (const address of answers.keys()) {
    if (answers.size > MOST && !addresses.includes(address)) answers.delete(address);
  }
  if (changed.some(Boolean)) told();
}

async function renew(address) {
  const before = answers.get(address);
  try {
    const headers = before?.tag ? { "If-None-Match": before.tag } : {};
    const answer = await fetch(address, { headers, cache: "no-store", signal: AbortSignal.timeout(30_000) });
    const wasLost = lost !== null;
    lost = null;
    if (answer.status === 304) return wasLost;
    if (answer.ok) {
      answers.set(address, { tag: answer.headers.get("ETag"), body: await answer.json() });
      return true;
    }
    const refusal = answer.status === GONE ? await answer.text() : `the answer was ${answer.status}`;
    answers.set(address, { refusal });
    return wasLost || before?.refusal !== refusal;
  } catch {
    const isNew = lost === null;
    lost ??= new Date();
    return isNew;
  }
}
