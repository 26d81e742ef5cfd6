/** The checklist of an organization that is new: shown from its first empty page until it is done or dismissed, in this browser. */

import { useSyncExternalStore } from "react";

import { session } from "@/state/session";

export interface FirstStepsProgress {
  /** Begun by an empty list of documents: an organization that is at work already has no use for it. */
  stage: "unseen" | "begun" | "over";
  hasSearched: boolean;
}

const UNSEEN: FirstStepsProgress = { stage: "unseen", hasSearched: false };
const listeners = new Set<() => void>();
const read = new Map<string, FirstStepsProgress>();

const keyOf = (organizationId: string) => `analytiq.first-steps.${organizationId}`;

function firstSteps(organizationId = session.organizationId()): FirstStepsProgress {
  const known = read.get(organizationId);
  if (known) return known;
  const kept = keptProgress(organizationId);
  read.set(organizationId, kept);
  return kept;
}

function keptProgress(organizationId: string): FirstStepsProgress {
  try {
    const kept = JSON.parse(localStorage.getItem(keyOf(organizationId)) ?? "null") as Partial<FirstStepsProgress> | null;
    if (kept?.stage !== "begun" && kept?.stage !== "over") return UNSEEN;
    return { stage: kept.stage, hasSearched: kept.hasSearched === true };
  } catch {
    return UNSEEN;
  }
}

function change(next: Partial<FirstStepsProgress>): void {
  const organizationId = session.organizationId();
  const changed = { ...firstSteps(organizationId), ...next };
  read.set(organizationId, changed);
  try {
    localStorage.setItem(keyOf(organizationId), JSON.stringify(changed));
  } catch {
    // Storage is switched off: it lasts as long as the page.
  }
  for (const listener of listeners) listener();
}

export function beginFirstSteps(): void {
  if (firstSteps().stage === "unseen") change({ stage: "begun" });
}

export function endFirstSteps(): void {
  if (firstSteps().stage !== "over") change({ stage: "over" });
}

export function noteSearch(): void {
  if (firstSteps().stage === "begun" && !firstSteps().hasSearched) change({ hasSearched: true });
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function useFirstSteps(): FirstStepsProgress {
  return useSyncExternalStore(
    subscribe,
    () => firstSteps(),
    () => UNSEEN,
  );
}
