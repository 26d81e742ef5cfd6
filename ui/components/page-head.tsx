"use client";

import Link from "next/link";
import { useEffect, useRef } from "react";

let hasShownPage = false;

/** The title of a page, which gets the focus when the page was navigated to, and its actions. */
export function PageHead({
  title,
  parent,
  aside,
  children,
}: {
  title: string;
  /** `onFollow`: to be called when the way there is taken. */
  parent?: { href: string; label: string; onFollow?: () => void };
  aside?: React.ReactNode;
  children?: React.ReactNode;
}) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    if (hasShownPage) heading.current?.focus();
    hasShownPage = true;
  }, []);
  useEffect(() => {
    document.title = `${title} · Analytiq`;
  }, [title]);
  return (
    <header className="page-head">
      {parent && (
        <>
          <Link href={parent.href} onClick={parent.onFollow} className="text-text-2 hover:text-text max-md:basis-full">
            <span aria-hidden className="md:hidden">
              ‹{" "}
            </span>
            {parent.label}
          </Link>
          <span aria-hidden className="text-text-3 max-md:hidden">
            /
          </span>
        </>
      )}
      <h1 ref={heading} tabIndex={-1} className="min-w-0 truncate text-xl font-semibold" title={title}>
        {title}
      </h1>
      {aside}
      <div className="flex-1" />
      {children}
    </header>
  );
}
