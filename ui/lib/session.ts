/** Who is signed in: the one place that knows how. An access token today; cookies take its place here alone.

The token is kept in sessionStorage, so that a reload stays signed in and closing the tab signs out. */

import { useSyncExternalStore } from "react";

export interface Session {
  organizationId: string;
  token: string;
}

const KEY = "analytiq.session";
const listeners = new Set<() => void>();
let current: Session | null | undefined;

function isSession(value: unknown): value is Session {
  if (typeof value !== "object" || value === null) return false;
  const { organizationId, token } = value as Partial<Session>;
  return typeof organizationId === "string" && typeof token === "string";
}

function read(): Session | null {
  if (current === undefined) {
    try {
      const kept: unknown = JSON.parse(sessionStorage.getItem(KEY) ?? "null");
      current = isSession(kept) ? kept : null;
    } catch {
      current = null;
    }
  }
  return current;
}

function write(session: Session | null): void {
  current = session;
  try {
    if (session === null) sessionStorage.removeItem(KEY);
    else sessionStorage.setItem(KEY, JSON.stringify(session));
  } catch {
    // Storage is switched off: the session lasts as long as the page.
  }
  for (const listener of listeners) listener();
}

export const session = {
  current: read,
  begin: (begun: Session): void => write(begun),
  end: (): void => write(null),
  /** Headers that identify the caller to the API. */
  headers: (): Record<string, string> => {
    const held = read();
    return held === null ? {} : { Authorization: `Bearer ${held.token}` };
  },
  /** Of the organization that is open; a page behind the gate always has one. */
  organizationId: (): string => read()?.organizationId ?? "",
};

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** undefined until the browser has been asked: the export is rendered without one. */
export function useSession(): Session | null | undefined {
  return useSyncExternalStore<Session | null | undefined>(subscribe, read, () => undefined);
}

/** What was pasted: the text of connection.json, or a token alone. */
export function readPasted(text: string): { organizationId?: string; token?: string } {
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed === "object" && parsed !== null) {
      const { organization_id: organizationId, token } = parsed as Record<string, unknown>;
      return {
        ...(typeof organizationId === "string" && { organizationId }),
        ...(typeof token === "string" && { token }),
      };
    }
  } catch {
    // Not JSON: it is the token itself.
  }
  return { token: text.trim() };
}

/** Only a path of this origin: `//elsewhere`, `/\elsewhere` and schemes lead away. */
export function ownPath(next: string | null): string {
  return next !== null && /^\/(?![/\\])[^\s\\]*$/.test(next) ? next : "/documents/";
}
