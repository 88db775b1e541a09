import eslint from '@eslint/js';
import { defineConfig, globalIgnores } from 'eslint/config';
import tseslint from 'typescript-eslint';

export default defineConfig(
  globalIgnores([
    'dist/',
    'clients/*/dist/',
    'clients/*/dist.new/',
    'clients/typescript/src/openapi.ts',
    'dist.new/',
    'coverage/',
    'data/',
    'src/console/assets/',
  ]),
  { linterOptions: { noInlineConfig: true } },
  eslint.configs.recommended,
  {
    files: ['**/*.mjs'],
    languageOptions: {
      globals: { Buffer: 'readonly', console: 'readonly', fetch: 'readonly', process: 'readonly', URL: 'readonly' },
    },
  },
  {
    files: ['**/*.ts', '**/*.tsx'],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      // A Nest module is an empty class with a decorator.
      '@typescript-eslint/no-extraneous-class': ['error', { allowWithDecorator: true }],
      // A number reads the same in a message as in code.
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      // A handler, guard or command of an asynchronous interface may have nothing to wait for.
      '@typescript-eslint/require-await': 'off',
      // Abstract classes serve as injection tokens, and answers are classes for their decorators; literals satisfy both.
      '@typescript-eslint/no-unsafe-class-instance-assignment': 'off',
      // Rows and answers are classes for their decorators only: they have no methods that a copy could lose.
      '@typescript-eslint/no-misused-spread': 'off',
      // `this: void` says that a static method can be passed on alone.
      '@typescript-eslint/no-invalid-void-type': ['error', { allowAsThisParameter: true }],
      // An arrow function that only passes a call on reads well without braces.
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      eqeqeq: 'error',
      'no-console': 'error',
    },
  },
  {
    files: ['src/**/*.ts', 'clients/*/src/**/*.ts', 'console/src/**/*.{ts,tsx}'],
    ignores: ['**/*.spec.ts'],
    rules: {
      '@typescript-eslint/explicit-module-boundary-types': 'error',
      'max-lines': ['error', { max: 200, skipBlankLines: true, skipComments: true }],
    },
  },
  {
    // Deprecated for the protocol without handshake; of a client with one, nothing else says what it can do.
    files: ['clients/cli/src/mcp/*.ts'],
    rules: {
      '@typescript-eslint/no-deprecated': [
        'error',
        { allow: [{ from: 'package', name: 'getClientCapabilities', package: '@modelcontextprotocol/server' }] },
      ],
    },
  },
  {
    files: ['src/**/*.ts'],
    ignores: ['**/*.spec.ts'],
    rules: {
      'no-restricted-properties': [
        'error',
        { object: 'process', property: 'env', message: 'Settings come from Configuration (src/config).' },
      ],
    },
  },
  {
    // Tests read JSON answers member by member and compare what they find; typing each answer would hide the test.
    files: ['test/**/*.ts', '**/*.spec.ts'],
    rules: {
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
    },
  },
  {
    // A benchmark's output is its purpose.
    files: ['bench/**/*.ts'],
    rules: { 'no-console': 'off' },
  },
);
