/** Single keys and sequences such as `g d`: what they do, and when they are left to the page. */

import { useEffect, useRef } from "react";

export interface Shortcut {
  keys: string;
  label: string;
  group: "Go to" | "Everywhere" | "List" | "Document" | "Search";
  run: () => void;
}

const SEQUENCE_MILLISECONDS = 1200;
const OFF_KEY = "analytiq.single-keys";

const held = new Set<Shortcut[]>();
let prefix: { key: string; at: number } | null = null;

export function areSingleKeysOn(): boolean {
  try {
    return localStorage.getItem(OFF_KEY) !== "off";
  } catch {
    return true;
  }
}

export function setSingleKeys(isOn: boolean): void {
  try {
    if (isOn) localStorage.removeItem(OFF_KEY);
    else localStorage.setItem(OFF_KEY, "off");
  } catch {
    // Storage is switched off: shortcuts stay on.
  }
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable) return true;
  if (target instanceof HTMLInputElement) return !["checkbox", "radio", "button"].includes(target.type);
  return target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement;
}

/** Whether a dialog or menu is open, whose keys are its own. */
function isLayerOpen(): boolean {
  return document.querySelector('[role="dialog"], [role="alertdialog"], [role="menu"]') !== null;
}

/** The key as shortcuts name it: `j`, `N` (with shift), `Enter`, `Space`. */
export function keyName(event: Pick<KeyboardEvent, "key">): string {
  return event.key === " " ? "Space" : event.key;
}

export function activeShortcuts(): Shortcut[] {
  return [...held].flat();
}

function onKey(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  if (isTyping(event.target) || isLayerOpen() || !areSingleKeysOn()) return;
  const key = keyName(event);
  if ((key === "Enter" || key === "Space") && event.target instanceof Element && event.target.closest("a, button, summary")) {
    return;
  }
  const isSequence = prefix !== null && event.timeStamp - prefix.at < SEQUENCE_MILLISECONDS;
  const wanted = isSequence && prefix !== null ? `${prefix.key} ${key}` : key;
  prefix = null;
  // The page that came last speaks first.
  const found = activeShortcuts().findLast((shortcut) => shortcut.keys === wanted);
  if (found) {
    event.preventDefault();
    found.run();
  } else if (key === "g") {
    prefix = { key, at: event.timeStamp };
  }
}

export function useShortcuts(shortcuts: Shortcut[]): void {
  const latest = useRef(shortcuts);
  useEffect(() => {
    latest.current = shortcuts;
  });
  const signature = shortcuts.map((shortcut) => shortcut.keys).join();
  useEffect(() => {
    const registered = latest.current.map((shortcut, index) => ({
      ...shortcut,
      run: () => latest.current[index]?.run(),
    }));
    if (held.size === 0) document.addEventListener("keydown", onKey);
    held.add(registered);
    return () => {
      held.delete(registered);
      if (held.size === 0) document.removeEventListener("keydown", onKey);
    };
  }, [signature]);
}
