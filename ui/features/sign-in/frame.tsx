/** What surrounds the pages for those who are not signed in. */
export function Frame({ title, children }: { title: string; children: React.ReactNode }) {
  return (
    <main className="mx-auto flex min-h-dvh max-w-[400px] flex-col justify-center gap-5 px-4 py-10">
      <div className="flex items-center gap-3">
        <img src="/icon.svg" alt="" width={32} height={32} />
        <h1 className="text-xl font-semibold">{title}</h1>
      </div>
      {children}
    </main>
  );
}
