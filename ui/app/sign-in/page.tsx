import type { Metadata } from "next";
import { Suspense } from "react";

import { SignIn } from "@/features/sign-in/sign-in";

export const metadata: Metadata = { title: "Sign in" };

export default function SignInPage() {
  return (
    <Suspense>
      <SignIn />
    </Suspense>
  );
}
