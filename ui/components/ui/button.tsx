import Link from "next/link";

interface Look {
  variant?: "plain" | "primary" | "danger" | "quiet";
  size?: "normal" | "small";
  /** Square, for a single icon; name it by `aria-label`. */
  isIcon?: boolean;
}

const VARIANTS = { plain: "", primary: "button-primary", danger: "button-danger", quiet: "button-quiet" };

/** The classes of a button, for elements that other libraries render. */
export function buttonClass({ variant = "plain", size = "normal", isIcon = false }: Look = {}, className = ""): string {
  return ["button", VARIANTS[variant], size === "small" && "button-small", isIcon && "button-icon", className].filter(Boolean).join(" ");
}

/** A button; it submits its form only with `type="submit"`. */
export function Button({ variant, size, isIcon, className, type = "button", ...rest }: Look & React.ComponentProps<"button">) {
  return <button {...rest} type={type} className={buttonClass({ variant, size, isIcon }, className)} />;
}

/** A link to a page of the UI that looks like a button. */
export function ButtonLink({ variant, size, isIcon, className, ...rest }: Look & React.ComponentProps<typeof Link>) {
  return <Link {...rest} className={buttonClass({ variant, size, isIcon }, className)} />;
}
