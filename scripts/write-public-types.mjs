/**
 * Writes docs/public-types.d.ts, or prints it with --print: the types of the package's entries, from the declarations
 * of the built program. Throws if one of them mentions a type of ours that no entry exports.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { SyntaxKind } from 'typescript-7/unstable/ast';
import { updateClassDeclaration } from 'typescript-7/unstable/ast/factory';
import { isClassDeclaration, isIdentifier, isSourceFile, isVariableDeclaration } from 'typescript-7/unstable/ast/is';
import { API, SymbolFlags } from 'typescript-7/unstable/sync';
import { isMain, root } from './run.mjs';

const DECLARATIONS = join(root, 'dist') + sep;
const INTRODUCTION = `// What the package exports, without what is private. Everything else may change with any version. \`npm run public-types\`
// writes this file from the built program; a test fails where it is not up to date. A change here is a change for those
// who depend on the package: it has a line in CHANGELOG.md.
`;

/** The text of the file. */
export function publicTypes() {
  const { name, exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const entries = Object.entries(exports).flatMap(([path, { types }]) =>
    types === undefined ? [] : [{ title: join(name, path), file: join(root, types) }],
  );
  const compiler = new API({ cwd: root });
  try {
    const snapshot = compiler.updateSnapshot({ openFiles: entries.map(({ file }) => file) });
    return textOfAll(entries, snapshot.getDefaultProjectForFile(entries[0].file));
  } finally {
    compiler.close();
  }
}

function textOfAll(entries, project) {
  const exported = entries.map(({ file }) => exportsOf(project, file));
  const known = new Set(exported.flatMap((symbols) => [...symbols.values()].map(({ id }) => id)));
  const missing = [];
  const sections = entries.map(({ title }, index) => {
    const texts = [...exported[index]].map(([name, symbol]) => textOf(project, name, symbol, known, missing));
    return `// ${title}\n\n${texts.join('\n\n')}\n`;
  });
  if (missing.length > 0)
    throw new Error(`No entry of the package exports what others mention:\n${missing.join('\n')}`);
  return [INTRODUCTION, ...sections].join('\n');
}

/** Returns the exports of a file by their names, in the order of the names. */
function exportsOf({ program, checker }, file) {
  const symbols = checker.getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(file)));
  const resolved = symbols.map((symbol) => [symbol.name, original(checker, symbol)]);
  return new Map(resolved.sort(([one], [other]) => (one < other ? -1 : 1)));
}

function original(checker, symbol) {
  return symbol.flags & SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
}

function textOf(project, name, { declarations }, known, missing) {
  const texts = declarations.map((handle) => {
    const declaration = handle.resolve(project);
    const whole = isVariableDeclaration(declaration) ? declaration.parent.parent : declaration;
    for (const part of visibleParts(whole)) checkMentions(project, name, part, known, missing);
    return project.emitter.printNode(withoutPrivate(whole));
  });
  return texts.join('\n').replaceAll(/^export (?:declare )?|^declare /gm, '');
}

function isPublic(member) {
  return !member.modifiers?.some(({ kind }) => kind === SyntaxKind.PrivateKeyword);
}

/** The members of a class that others can use. */
function withoutPrivate(node) {
  if (!isClassDeclaration(node)) return node;
  const { modifiers, name, typeParameters, heritageClauses, members } = node;
  return updateClassDeclaration(node, modifiers, name, typeParameters, heritageClauses, members.filter(isPublic));
}

function visibleParts(node) {
  if (!isClassDeclaration(node)) return [node];
  return [...(node.typeParameters ?? []), ...(node.heritageClauses ?? []), ...node.members.filter(isPublic)];
}

/** Adds our types that the node mentions but no entry exports to `missing`. */
function checkMentions(project, name, node, known, missing) {
  const found = isIdentifier(node) ? project.checker.getSymbolAtLocation(node) : undefined;
  const symbol = found === undefined ? undefined : original(project.checker, found);
  if (symbol !== undefined && !known.has(symbol.id)) {
    const declarations = symbol.declarations.map((handle) => handle.resolve(project));
    if (declarations.some(isOursAndTopLevel)) missing.push(`${name} mentions ${node.text}`);
  }
  node.forEachChild((child) => checkMentions(project, name, child, known, missing));
}

function isOursAndTopLevel(declaration) {
  const isOurs = declaration?.getSourceFile().fileName.startsWith(DECLARATIONS);
  return isOurs && (isSourceFile(declaration.parent) || isVariableDeclaration(declaration));
}

if (isMain(import.meta.url)) {
  const text = publicTypes();
  if (process.argv.includes('--print')) process.stdout.write(text);
  else writeFileSync(join(root, 'docs', 'public-types.d.ts'), text);
}
