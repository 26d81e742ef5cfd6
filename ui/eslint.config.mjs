import jsxA11y from "eslint-plugin-jsx-a11y";
import reactHooks from "eslint-plugin-react-hooks";
import { defineConfig, globalIgnores } from "eslint/config";
import tseslint from "typescript-eslint";

const QUERIES = [
  {
    selector: "Property[key.name='queryKey'] > ArrayExpression.value, CallExpression[callee.property.name=/QueryData$/] > ArrayExpression",
    message: "Take the key from a factory: api/keys.ts, or the queries.ts of the feature.",
  },
  { selector: "Property[key.name='queryFn']", message: "Put the query into the queries.ts of its feature." },
];

/** The classes of buttons and fields, and elements that have a primitive, belong to components/ui. */
const LOOK = "/(^| )(button|field)( |$|-(primary|danger|quiet|icon|small))/";
const PRIMITIVES = [
  {
    selector: "JSXOpeningElement[name.name=/^(table|select|textarea)$/]",
    message: "Use DataTable, Select or Textarea from components/ui.",
  },
  ...["JSXAttribute", "Property"].flatMap((kind) => [
    {
      selector: `${kind}:matches([name.name='className'], [key.name='className']) Literal[value=${LOOK}]`,
      message: "Use Button, ButtonLink or Input from components/ui.",
    },
    {
      selector: `${kind}:matches([name.name='className'], [key.name='className']) TemplateElement[value.raw=${LOOK}]`,
      message: "Use Button, ButtonLink or Input from components/ui.",
    },
  ]),
  {
    selector: "ImportDeclaration[source.value='radix-ui'] > ImportSpecifier[imported.name=/^(Dialog|AlertDialog)$/]",
    message: "Use Dialog from components/ui.",
  },
];

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
      "jsx-a11y/label-has-associated-control": ["error", { controlComponents: ["Input", "Select", "Textarea"] }],
      // An area that scrolls takes the focus, so that the keyboard scrolls it.
      "jsx-a11y/no-noninteractive-tabindex": ["error", { tags: ["pre", "ul"], roles: ["region", "log", "tabpanel"] }],
    },
  },
  {
    files: ["**/*.{ts,tsx}"],
    ignores: ["**/queries.ts", "**/*-queries.ts", "components/ui/**", "**/*.test.*", "tests/**"],
    rules: { "no-restricted-syntax": ["error", ...QUERIES, ...PRIMITIVES] },
  },
  { files: ["components/ui/**"], rules: { "no-restricted-syntax": ["error", ...QUERIES] } },
  {
    files: ["lib/**"],
    rules: {
      "@typescript-eslint/no-restricted-imports": [
        "error",
        {
          patterns: [
            {
              group: ["react", "react-dom", "next/*", "@tanstack/*"],
              message: "lib/ decides without React; hooks and stores stand in state/.",
            },
            { group: ["@/api/*", "@/state/*", "@/components/*", "@/features/*"], allowTypeImports: true, message: "lib/ is pure." },
          ],
        },
      ],
    },
  },
  // Playwright calls a fixture's continuation `use`.
  { files: ["tests/**"], rules: { "react-hooks/rules-of-hooks": "off" } },
);
