"use client";

import { MutationCache, QueryCache, QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { NuqsAdapter } from "nuqs/adapters/next/app";
import { useState } from "react";
import { Toaster } from "sonner";

import { ApiError } from "@/api/errors";
import { buttonClass } from "@/components/ui/button";
import { reportReachable } from "@/state/connection";
import { UNDO_MILLISECONDS } from "@/lib/undo";

function shouldRetry(failures: number, error: unknown): boolean {
  // An answer in the 400s is the same the second time; what is loading (503) or cut off is worth another try.
  const isFinal = error instanceof ApiError && error.status < 500;
  return !isFinal && failures < 2;
}

function createQueryClient(): QueryClient {
  const onError = (error: unknown) => reportReachable(error);
  return new QueryClient({
    queryCache: new QueryCache({ onError, onSuccess: () => reportReachable(null) }),
    mutationCache: new MutationCache({ onError }),
    defaultOptions: {
      // "always": a browser without the internet still reaches a server on this machine.
      queries: { retry: shouldRetry, staleTime: 5_000, refetchOnWindowFocus: true, networkMode: "always" },
      mutations: { retry: false, networkMode: "always" },
    },
  });
}

export function Providers({ children }: { children: React.ReactNode }) {
  const [client] = useState(createQueryClient);
  return (
    <QueryClientProvider client={client}>
      <NuqsAdapter>{children}</NuqsAdapter>
      <Toaster
        position="bottom-right"
        closeButton
        toastOptions={{
          duration: UNDO_MILLISECONDS,
          unstyled: true,
          classNames: {
            toast: "layer flex w-full items-center gap-3 px-4 py-3 text-sm text-text",
            content: "min-w-0 flex-1",
            title: "font-medium break-words",
            description: "text-text-2 break-words",
            actionButton: buttonClass({ size: "small" }, "shrink-0"),
            closeButton: buttonClass({ variant: "quiet", size: "small" }, "order-last shrink-0"),
          },
        }}
      />
    </QueryClientProvider>
  );
}
