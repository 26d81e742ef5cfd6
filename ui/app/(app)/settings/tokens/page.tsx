import { Suspense } from "react";

import { SkeletonBlock } from "@/components/feedback";
import { AccessTokens } from "@/features/settings/access-tokens";

export default function AccessTokensPage() {
  return (
    <Suspense fallback={<SkeletonBlock lines={8} />}>
      <AccessTokens />
    </Suspense>
  );
}
