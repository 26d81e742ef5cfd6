import { queryOptions } from "@tanstack/react-query";

import { answered, api } from "@/api/client";

export const invitationKeys = {
  all: ["invitation"] as const,
  one: (token: string | null) => ["invitation", token] as const,
};

const wayKeys = { all: ["sign-in-ways"] as const };

export function signInWaysQuery() {
  return queryOptions({ queryKey: wayKeys.all, queryFn: () => answered(api.GET("/v0/auth/ways")), staleTime: Infinity });
}

export function invitationQuery(token: string | null) {
  return queryOptions({
    queryKey: invitationKeys.one(token),
    queryFn: () => answered(api.POST("/v0/auth/invitations/preview", { body: { token: token ?? "" } })),
    enabled: token !== null && token !== "",
    retry: false,
    staleTime: Infinity,
  });
}
