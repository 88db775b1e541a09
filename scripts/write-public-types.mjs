/**
 * Writes docs/public-types.md, or prints it with --print: the types of the package's entries, from the declarations of
 * the built program. Throws if one of them mentions something of ours that no entry exports.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import ts from 'typescript';
import { isMain, root } from './run.mjs';

const DECLARATIONS = join(root, 'dist') + sep;
const INTRODUCTION = `# Public types

What the package exports, without what is private. Everything else may change with any version. \`npm run public-types\` writes
this page from the built program; a test fails where it is not up to date. A change here is a change for those who depend on the
package: it has a line in [CHANGELOG.md](../CHANGELOG.md).
`;

const printer = ts.createPrinter({ removeComments: true });

/** The text of the page. */
export function publicTypes() {
  const { name, exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const entries = Object.entries(exports).flatMap(([path, { types }]) =>
    types === undefined ? [] : [{ title: join(name, path), file: join(root, types) }],
  );
  const options = { module: ts.ModuleKind.Node16, target: ts.ScriptTarget.ES2023, skipLibCheck: true, types: ['node'] };
  const program = ts.createProgram(
    entries.map(({ file }) => file),
    options,
  );
  const checker = program.getTypeChecker();
  const exported = entries.map(({ file }) => exportsOf(checker, program.getSourceFile(file)));
  const known = new Set(
    exported.flatMap((symbols) => [...symbols.values()].flatMap(({ declarations }) => declarations)),
  );
  const missing = [];
  const sections = entries.map(({ title }, index) => {
    const texts = [...exported[index]].map(([name, symbol]) => textOf(checker, name, symbol, known, missing));
    return `## ${title}\n\n\`\`\`ts\n${texts.join('\n\n')}\n\`\`\`\n`;
  });
  if (missing.length > 0)
    throw new Error(`No entry of the package exports what others mention:\n${missing.join('\n')}`);
  return [INTRODUCTION, ...sections].join('\n');
}

/** By name, in order. */
function exportsOf(checker, file) {
  const symbols = checker.getExportsOfModule(checker.getSymbolAtLocation(file));
  const resolved = symbols.map((symbol) => [symbol.name, original(checker, symbol)]);
  return new Map(resolved.sort(([one], [other]) => (one < other ? -1 : 1)));
}

function original(checker, symbol) {
  return symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
}

function textOf(checker, name, { declarations }, known, missing) {
  const texts = declarations.map((declaration) => {
    const visible = withoutPrivate(ts.isVariableDeclaration(declaration) ? declaration.parent.parent : declaration);
    checkMentions(checker, name, visible, known, missing);
    return printer.printNode(ts.EmitHint.Unspecified, visible, declaration.getSourceFile());
  });
  return texts.join('\n').replaceAll(/^export (?:declare )?|^declare /gm, '');
}

/** The members of a class that others can use. */
function withoutPrivate(node) {
  if (!ts.isClassDeclaration(node)) return node;
  const { modifiers, name, typeParameters, heritageClauses, members } = node;
  const visible = members.filter(
    (member) => !member.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.PrivateKeyword),
  );
  return ts.factory.updateClassDeclaration(node, modifiers, name, typeParameters, heritageClauses, visible);
}

/** Adds our types that the node mentions but no entry exports to `missing`. */
function checkMentions(checker, name, node, known, missing) {
  const symbol = ts.isIdentifier(node) ? checker.getSymbolAtLocation(node) : undefined;
  for (const declaration of symbol === undefined ? [] : (original(checker, symbol).declarations ?? [])) {
    const isOurs = declaration.getSourceFile().fileName.startsWith(DECLARATIONS);
    const isTopLevel = ts.isSourceFile(declaration.parent) || ts.isVariableDeclaration(declaration);
    if (isOurs && isTopLevel && !known.has(declaration)) {
      missing.push(`${name} mentions ${node.text}`);
    }
  }
  ts.forEachChild(node, (child) => checkMentions(checker, name, child, known, missing));
}

if (isMain(import.meta.url)) {
  const page = publicTypes();
  if (process.argv.includes('--print')) process.stdout.write(page);
  else writeFileSync(join(root, 'docs', 'public-types.md'), page);
}
