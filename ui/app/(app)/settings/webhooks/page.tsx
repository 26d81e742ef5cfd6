import { Suspense } from "react";

import { SkeletonBlock } from "@/components/feedback";
import { Webhooks } from "@/features/webhooks/webhooks";

export default function WebhooksPage() {
  return (
    <Suspense fallback={<SkeletonBlock lines={8} />}>
      <Webhooks />
    </Suspense>
  );
}
