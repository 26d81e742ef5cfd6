/** Who is signed in: the one place that knows how: a person by the cookie of the API, or an access token.

A person's secret is in a cookie that no script can read; here is only what calls need beside it. A token is kept in
sessionStorage, so that a reload stays signed in and closing the tab signs out. */

import { useSyncExternalStore } from "react";

export type Role = "viewer" | "editor" | "admin" | "owner";

interface Membership {
  organization_id: string;
  organization_name: string;
  role: Role;
}

export interface TokenSession {
  organizationId: string;
  token: string;
}

export interface PersonSession {
  organizationId: string;
  csrfToken: string;
  email: string;
  name: string;
  organizations: Membership[];
}

export type Session = TokenSession | PersonSession;

/** What the API answers of whoever is signed in. */
export interface SignedIn {
  csrf_token: string;
  email: string;
  name: string;
  organizations: Membership[];
}

const KEY = "analytiq.session";
const listeners = new Set<() => void>();
let current: Session | null | undefined;
/** The session that the API ended while a page was in use: the page stays as it is until its person signs in again. */
let ended: Session | null = null;
let wasAnswered = false;
let hasExpired = false;

/** Of a person who is in several organizations: the one that was open last, in this browser. */
const LAST = "analytiq.organization";

export function isPerson(held: Session | null | undefined): held is PersonSession {
  return held !== null && held !== undefined && "csrfToken" in held;
}

function isSession(value: unknown): value is Session {
  if (typeof value !== "object" || value === null) return false;
  const { organizationId, token, csrfToken } = value as Partial<TokenSession & PersonSession>;
  return typeof organizationId === "string" && (typeof token === "string" || typeof csrfToken === "string");
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

function write(session: Session | null, before: Session | null = null): void {
  current = session;
  ended = before;
  wasAnswered = false;
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
  /** A person is signed in; false where they are a member of no organization. */
  beginAs: (person: SignedIn, organizationId: string | null = null): boolean => {
    const wanted = organizationId ?? lastOrganization();
    const opened = person.organizations.find((item) => item.organization_id === wanted) ?? person.organizations[0];
    if (opened === undefined) return false;
    rememberOrganization(opened.organization_id);
    write({
      organizationId: opened.organization_id,
      csrfToken: person.csrf_token,
      email: person.email,
      name: person.name,
      organizations: person.organizations,
    });
    return true;
  },
  /** The API says that it is over, or a token is to be forgotten. */
  end: (): void => {
    const held = read();
    if (held === null) return;
    hasExpired = true;
    write(null, wasAnswered ? held : null);
  },
  /** The API answered: there is a page in use. */
  noteAnswer: (): void => {
    wasAnswered ||= read() !== null;
  },
  ended: (): Session | null => ended,
  /** Whether a session ended on its own since the page was loaded: sign-in says so. */
  hasExpired: (): boolean => hasExpired,
  /** Leave the page as it was, and sign in from the start. */
  abandon: (): void => write(null),
  onChange: (listener: () => void): (() => void) => subscribe(listener),
  /** Sign out: the cookie is gone before the page is. */
  signOut: async (everywhere = false): Promise<void> => {
    const held = read();
    if (isPerson(held)) {
      const path = everywhere ? "/v0/auth/sign-out-everywhere" : "/v0/auth/sign-out";
      const response = await fetch(path, { method: "POST", headers: session.headers() });
      if (!response.ok && response.status !== 401) throw new Error(`The server answered ${response.status}.`);
    }
    write(null);
  },
  /** Headers that identify the caller to the API. */
  headers: (): Record<string, string> => {
    const held = read();
    if (held === null) return {};
    return isPerson(held) ? { "X-CSRF-Token": held.csrfToken } : { Authorization: `Bearer ${held.token}` };
  },
  /** Of the organization that is open; a page behind the gate always has one. */
  organizationId: (): string => (read() ?? ended)?.organizationId ?? "",
};

/** Whoever is signed in by the cookie of another tab, or of yesterday; asked only where there is one. */
export async function cookiePerson(): Promise<SignedIn | null> {
  try {
    const ways = (await (await fetch("/v0/auth/ways")).json()) as { has_cookie: boolean };
    const response = ways.has_cookie ? await fetch("/v0/auth/session") : null;
    return response?.ok ? ((await response.json()) as SignedIn) : null;
  } catch {
    return null;
  }
}

/** Begin the session of the browser's cookie; false where there is none, or its person is a member of no organization. */
export async function resumeSession(): Promise<boolean> {
  const person = await cookiePerson();
  return person !== null && session.beginAs(person);
}

function lastOrganization(): string | null {
  try {
    return localStorage.getItem(LAST);
  } catch {
    return null;
  }
}

function rememberOrganization(organizationId: string): void {
  try {
    localStorage.setItem(LAST, organizationId);
  } catch {
    // Storage is switched off: the first organization is opened next time.
  }
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** undefined until the browser has been asked: the export is rendered without one. */
export function useSession(): Session | null | undefined {
  return useSyncExternalStore<Session | null | undefined>(subscribe, read, () => undefined);
}

/** The session that ended while this page was in use, until somebody signs in again. */
export function useEndedSession(): Session | null {
  return useSyncExternalStore(
    subscribe,
    () => ended,
    () => null,
  );
}
