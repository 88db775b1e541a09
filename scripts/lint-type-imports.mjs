/**
 * Oxlint's own `consistent-type-imports` also reports classes that a decorated constructor names, which Nest needs at
 * run time. So this rule leaves files with decorators alone, as typescript-eslint's does.
 */
const typeImports = {
  create(context) {
    const imports = [];
    let hasDecorators = false;
    return {
      Decorator: () => void (hasDecorators = true),
      ImportDeclaration: (node) => void imports.push(node),
      'Program:exit': () => {
        if (!hasDecorators) for (const node of imports) reportTypes(context, node);
      },
    };
  },
};

function reportTypes(context, declaration) {
  if (declaration.importKind === 'type') return;
  for (const { name, defs, references } of context.sourceCode.getDeclaredVariables(declaration)) {
    const specifier = defs[0].node;
    if (specifier.importKind === 'type' || references.length === 0) continue;
    if (references.every(({ isTypeReference }) => isTypeReference)) {
      context.report({ node: specifier, message: `${name} is only used as a type: use "import type".` });
    }
  }
}

export default { meta: { name: 'project' }, rules: { 'type-imports': typeImports } };
