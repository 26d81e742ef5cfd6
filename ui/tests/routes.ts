import type { Page } from "@playwright/test";

import { call, expect } from "./fixtures";

/** Everything in the window has come; rows further down ask for their states when they are scrolled to. */
export async function settled(page: Page): Promise<void> {
  await expect(page.locator("h1")).toBeVisible();
  const awaited = () =>
    page.evaluate(() => {
      const isSeen = (element: Element) => {
        let { top, bottom } = element.getBoundingClientRect();
        if (element.getBoundingClientRect().width === 0) return false;
        for (let around = element.parentElement; around; around = around.parentElement) {
          if (getComputedStyle(around).overflowY === "visible") continue;
          top = Math.max(top, around.getBoundingClientRect().top);
          bottom = Math.min(bottom, around.getBoundingClientRect().bottom);
        }
        return Math.min(bottom, innerHeight) > Math.max(top, 0);
      };
      return [...document.querySelectorAll("[aria-busy=true], .skeleton")].filter(isSeen).map((element) => element.outerHTML.slice(0, 120));
    });
  await expect.poll(awaited).toEqual([]);
}

const first = async <Item>(path: string, list: string): Promise<Item | undefined> =>
  (await call<Record<string, Item[]>>("GET", path))[list]?.[0];

/** Every page by its name, with what the stories before have made: these specs run after all others. */
export async function routes(): Promise<Record<string, string>> {
  const kb = (await first<{ kb_id: string }>("/knowledge-bases?name_search=Contracts", "knowledge_bases"))?.kb_id;
  const document = (await first<{ document_id: string }>("/documents?name_search=service-agreement", "documents"))?.document_id;
  const manual = (await first<{ document_id: string }>("/documents?name_search=pump-manual", "documents"))?.document_id;
  const prompt = (await first<{ prompt_id: string }>("/prompts?name_search=Notice", "prompts"))?.prompt_id;
  const { runs } = await call<{ runs: { run_id: string; status: string }[] }>("GET", "/runs?limit=100");
  const run = runs.find(({ status }) => status === "succeeded")?.run_id;
  const source = await first<{ source_id: string; last_run: { source_run_id: string } }>("/sources?name_search=Field", "sources");
  const thread = (await first<{ thread_id: string }>("/chat/threads", "threads"))?.thread_id;
  return {
    documents: "/documents/",
    viewer: `/documents/view/?id=${document}&page=3&hl=3-3:2400-2700`,
    chunks: `/documents/view/?id=${document}&tab=chunks`,
    tables: `/documents/view/?id=${manual}&tab=tables&sql=${encodeURIComponent("SELECT * FROM rows")}`,
    details: `/documents/view/?id=${document}&tab=details`,
    history: `/documents/view/?id=${document}&tab=history`,
    tags: "/tags/",
    "knowledge-bases": "/kbs/",
    "knowledge-base": `/kbs/view/?id=${kb}`,
    "knowledge-base-chunks": `/kbs/view/?id=${kb}&tab=chunks`,
    "knowledge-base-health": `/kbs/view/?id=${kb}&tab=health`,
    "knowledge-base-settings": `/kbs/view/?id=${kb}&tab=settings`,
    "new-knowledge-base": "/kbs/new/",
    sources: "/sources/",
    "new-source": "/sources/new/",
    "new-source-of-kind": "/sources/new/?kind=folder",
    source: `/sources/view/?id=${source?.source_id}`,
    "source-items": `/sources/view/?id=${source?.source_id}&tab=items`,
    "source-settings": `/sources/view/?id=${source?.source_id}&tab=settings`,
    "source-run": `/sources/run/?source=${source?.source_id}&id=${source?.last_run.source_run_id}`,
    search: `/search/?kb=${kb}&q=When+are+invoices+payable`,
    "search-compared": `/search/?kb=${kb}&q=When+are+invoices+payable&b=lexical`,
    "search-filtered": `/search/?kb=${kb}&q=notice&f=${encodeURIComponent('{"document_name":{"$eq":"pump-manual.md"}}')}`,
    chat: "/chat/",
    "chat-thread": `/chat/?thread=${thread}`,
    prompts: "/prompts/",
    "new-prompt": "/prompts/new/",
    prompt: `/prompts/view/?id=${prompt}`,
    "prompt-runs": `/prompts/view/?id=${prompt}&tab=runs`,
    "prompt-results": `/prompts/view/?id=${prompt}&tab=results`,
    "prompt-versions": `/prompts/view/?id=${prompt}&tab=versions`,
    run: `/prompts/run/?id=${run}`,
    usage: "/usage/",
    operations: "/operations/",
    "operations-waiting": "/operations/?state=available",
    "operations-workers": "/operations/?tab=workers",
    "operations-reports": "/operations/?tab=reports",
    "operations-backups": "/operations/?tab=backups",
    account: "/account/",
    people: "/settings/people/",
    tokens: "/settings/tokens/",
    providers: "/settings/providers/",
    webhooks: "/settings/webhooks/",
    organization: "/settings/organization/",
    "audit-log": "/settings/audit-log/",
  };
}
