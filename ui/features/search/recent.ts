/** The last questions of this browser, latest first. */

const KEY = "analytiq.recent-questions";
const MOST = 10;

export function recentQuestions(): string[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(kept) ? kept.filter((item): item is string => typeof item === "string").slice(0, MOST) : [];
  } catch {
    return [];
  }
}

export function rememberQuestion(question: string): void {
  try {
    const others = recentQuestions().filter((other) => other !== question);
    localStorage.setItem(KEY, JSON.stringify([question, ...others].slice(0, MOST)));
  } catch {
    // Storage is switched off: nothing is remembered.
  }
}
