import { ButtonLink } from "@/components/ui/button";

export default function NotFound() {
  return (
    <main className="mx-auto flex max-w-[520px] flex-col items-start gap-3 px-4 py-24">
      <h1 className="text-xl font-semibold">There is no such page</h1>
      <p className="text-base text-text-2">The address may be misspelt, or the page has moved.</p>
      <ButtonLink variant="primary" href="/documents/">
        Go to documents
      </ButtonLink>
    </main>
  );
}
