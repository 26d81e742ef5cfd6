import type { NextConfig } from "next";

const shared: NextConfig = {
  trailingSlash: true,
  images: { unoptimized: true },
  reactStrictMode: true,
  // `npm run types` checks them, for `make ui-check`: whoever only builds need not wait for it.
  typescript: { ignoreBuildErrors: true },
};

/** Where `make ui-dev` finds the API; the export has it on its own origin. */
const API_URL = process.env.ANALYTIQ_API_URL ?? "http://127.0.0.1:8000";

const config: NextConfig =
  process.env.NODE_ENV === "development"
    ? {
        ...shared,
        skipTrailingSlashRedirect: true,
        rewrites: () => Promise.resolve([{ source: "/v0/:path*", destination: `${API_URL}/v0/:path*` }]),
      }
    : { ...shared, output: "export" };

export default config;
