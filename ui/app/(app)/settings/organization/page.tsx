import { Suspense } from "react";

import { SkeletonBlock } from "@/components/feedback";
import { OrganizationSettings } from "@/features/settings/organization";

export default function OrganizationSettingsPage() {
  return (
    <Suspense fallback={<SkeletonBlock lines={8} />}>
      <OrganizationSettings />
    </Suspense>
  );
}
