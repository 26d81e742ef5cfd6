import "./globals.css";

import type { Metadata, Viewport } from "next";

import { Providers } from "@/components/providers";

export const metadata: Metadata = {
  title: { default: "Analytiq", template: "%s · Analytiq" },
  description: "Documents, tags, knowledge bases and search",
  icons: { icon: "/icon.svg" },
  robots: { index: false },
  referrer: "no-referrer",
};

export const viewport: Viewport = { width: "device-width", initialScale: 1, viewportFit: "cover" };

export default function RootLayout({ children }: { children: React.ReactNode }) {
  return (
    <html lang="en" suppressHydrationWarning>
      <head>
        {/* Blocking, so that the first paint has its theme; a file, so that the policy allows no inline script of ours. */}
        <script src="/theme.js" />
      </head>
      <body>
        <Providers>{children}</Providers>
      </body>
    </html>
  );
}
