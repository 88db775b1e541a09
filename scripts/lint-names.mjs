/** Participles and prepositions alone say nothing about the thing that they name: see CONTRIBUTING.md, "Names". */
const VAGUE = [
  'asked',
  'besides',
  'found',
  'given',
  'kept',
  'known',
  'leaving',
  'looked',
  'meant',
  'named',
  'otherwise',
  'said',
  'shown',
  'wanted',
];

/**
 * Reports names of declarations. Members of requests and responses may have any name: they are part of the interface.
 */
const names = {
  meta: { schema: [{ type: 'object', properties: { also: { type: 'array', items: { type: 'string' } } } }] },
  /** @param context its option `also` lists further words. */
  create(context) {
    const vague = new Set([...VAGUE, ...(context.options[0]?.also ?? [])]);
    const check = (node, name) => {
      if (vague.has(name)) report(context, node, name);
    };
    const checkKey = (key) => {
      if (key.type === 'Identifier' || key.type === 'PrivateIdentifier') check(key, key.name);
    };
    return {
      'Program:exit': () => {
        for (const scope of context.sourceCode.scopeManager.scopes) {
          for (const { name, defs } of scope.variables) {
            const [definition] = defs;
            if (definition !== undefined) check(definition.name, name);
          }
        }
      },
      MethodDefinition: ({ key }) => checkKey(key),
      PropertyDefinition: ({ key, accessibility }) => {
        if (accessibility === 'private' || key.type === 'PrivateIdentifier') checkKey(key);
      },
    };
  },
};

function report(context, node, name) {
  context.report({
    node,
    message: `"${name}" alone is no name: use a noun of what it holds, or a verb of what it does.`,
  });
}

export default { meta: { name: 'names' }, rules: { 'no-vague': names } };
