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
