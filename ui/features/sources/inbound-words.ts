/** What an inbound address is for, by kind of source. */

export interface InboundHint {
  /** Name of the service that delivers webhooks; null: programs push by Standard Webhooks. */
  service: string | null;
  /** What to enter in the service. */
  steps: string;
  /** The service signs by a secret of its own, which a person enters here. */
  hasOwnSecret: boolean;
}

const HINTS: Readonly<Record<string, InboundHint>> = {
  slack: {
    service: "Slack",
    steps: "In your Slack app, enter the address under Event Subscriptions, and subscribe to message.channels and message.groups.",
    hasOwnSecret: true,
  },
  github: {
    service: "GitHub",
    steps:
      "In the repository’s webhooks, enter the address and the secret. Choose the content type application/json, and the events issues, issue comments and pushes.",
    hasOwnSecret: false,
  },
  confluence: {
    service: "Confluence",
    steps: "In Confluence Data Center, create a webhook with the address and the secret, for events of pages and attachments.",
    hasOwnSecret: false,
  },
  jira: {
    service: "Jira",
    steps:
      "In Jira’s system settings, create a webhook with the address and the secret, for events of issues and comments. A JQL filter saves deliveries.",
    hasOwnSecret: false,
  },
  notion: {
    service: "Notion",
    steps:
      "In your Notion integration, create a webhook with the address. Notion then sends a verification token, which appears here. Paste it in Notion to confirm. The secret made here is for programs of your own.",
    hasOwnSecret: false,
  },
};

const PROGRAMS: InboundHint = {
  service: null,
  steps: "Programs push items to the address, as JSON or files, and sign each request with the secret by Standard Webhooks.",
  hasOwnSecret: false,
};

export function inboundHint(kind: string): InboundHint {
  return (Object.hasOwn(HINTS, kind) ? HINTS[kind] : undefined) ?? PROGRAMS;
}

/** The address with the server's origin, which the API leaves out if its operator has set no public one. */
export function wholeAddress(url: string, origin: string): string {
  return url.startsWith("/") ? `${origin}${url}` : url;
}
