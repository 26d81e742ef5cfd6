/** The part of a page that scrolls; it takes the focus, so that the keyboard scrolls it too. */
export function ScrollArea({ label, className = "", children }: { label: string; className?: string; children: React.ReactNode }) {
  return (
    <div role="region" aria-label={label} tabIndex={0} className={`min-h-0 flex-1 overflow-auto ${className}`}>
      {children}
    </div>
  );
}
