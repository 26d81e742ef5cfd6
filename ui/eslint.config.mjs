import jsxA11y from "eslint-plugin-jsx-a11y";
import reactHooks from "eslint-plugin-react-hooks";
import { defineConfig, globalIgnores } from "eslint/config";
import tseslint from "typescript-eslint";

export default defineConfig(
  // Generated.
  globalIgnores(["api/schema.ts", "next-env.d.ts", ".next/", "out/", "public/", "test-results/"]),
  { linterOptions: { reportUnusedDisableDirectives: "error" } },
  {
    files: ["**/*.{ts,tsx,mts}"],
    extends: [tseslint.configs.recommendedTypeChecked, reactHooks.configs.flat.recommended, jsxA11y.flatConfigs.recommended],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      "@typescript-eslint/no-unused-vars": ["error", { ignoreRestSiblings: true, argsIgnorePattern: "^_" }],
      // A dialog or picker that opens puts the cursor where the user types next.
      "jsx-a11y/no-autofocus": "off",
      // An area that scrolls takes the focus, so that the keyboard scrolls it.
      "jsx-a11y/no-noninteractive-tabindex": ["error", { tags: ["pre", "ul"], roles: ["region", "log", "tabpanel"] }],
    },
  },
  {
    files: ["**/*.{ts,tsx}"],
    ignores: ["**/queries.ts", "**/*-queries.ts", "**/*.test.*", "tests/**"],
    rules: {
      "no-restricted-syntax": [
        "error",
        {
          selector:
            "Property[key.name='queryKey'] > ArrayExpression.value, CallExpression[callee.property.name=/QueryData$/] > ArrayExpression",
          message: "Take the key from a factory: api/keys.ts, or the queries.ts of the feature.",
        },
        { selector: "Property[key.name='queryFn']", message: "Queries stand in the queries.ts of their feature." },
      ],
    },
  },
  // Playwright calls a fixture's continuation `use`.
  { files: ["tests/**"], rules: { "react-hooks/rules-of-hooks": "off" } },
);
