/** Failures of a sign-in at a service, in words. The address carries a code: its text could be anybody's. */

const PROBLEMS: Readonly<Record<string, string>> = {
  sign_in_denied: "The service did not sign you in, or you declined.",
  sign_in_expired: "The sign-in took longer than ten minutes, or began in another browser.",
  no_refresh_token: "The service gave access for a short time only. Withdraw the consent there, so that it asks you again.",
  sign_in_needed: "The service did not accept the sign-in any more.",
  credentials_refused: "The service did not accept the application. Check client id, client secret and rights in the source’s settings.",
  address_forbidden: "The server may not reach the address of the service. Its operator can allow it.",
  not_found: "The source does not exist any more.",
  invalid_input: "The source’s settings or credentials do not allow a sign-in. Check them.",
  temporarily_unavailable: "The service does not answer now.",
};

/** Return the sentence of a code; an unknown code has a general one. */
export function signInProblem(code: string): string {
  const known = Object.hasOwn(PROBLEMS, code) ? PROBLEMS[code] : undefined;
  return known ?? "The sign-in at the service was not completed.";
}
