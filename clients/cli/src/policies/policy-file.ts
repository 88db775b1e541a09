import { extname } from 'node:path';
import { type Document, isNode, LineCounter, parseDocument, visit } from 'yaml';
import { changedNumberIn, changedNumberText } from '../changed-number.js';

/** Aliases may expand to more than fits in memory. */
const EXPANSION = { maxAliasCount: 100 };

/** One file of policies and tests, in YAML or in JSON, which YAML includes. */
export class PolicyFile {
  /** Why it is not well-formed, each with its place; its content is not checked. */
  readonly faults: readonly string[];
  /** Only if there are no faults. */
  value: unknown;
  private readonly document: Document;
  private readonly lines = new LineCounter();

  constructor(
    readonly path: string,
    text: string,
  ) {
    const lineCounter = this.lines;
    // Whatever version of YAML the file says it is.
    const schema = 'core';
    const options = { lineCounter, prettyErrors: false, stringKeys: true, intAsBigInt: true, schema } as const;
    // Only what JSON has, too: what a tag makes of a value, such as a date, would reach the service as something else.
    this.document = parseDocument(text, { ...options, resolveKnownTags: false });
    const { errors, warnings } = this.document;
    this.faults = [...errors, ...warnings].map(({ message, pos }) => `${this.placeAt(pos[0])}: ${message}`);
    if (this.faults.length > 0) return;
    this.faults = extname(path).toLowerCase() === '.json' ? faultsOf(path, () => JSON.parse(text) as unknown) : [];
    this.faults = [...this.faults, ...faultsOf(path, () => (this.value = this.document.toJS(EXPANSION)))];
    const changed = changedNumberIn(this.value, '');
    if (changed !== undefined)
      this.faults = [...this.faults, `${this.placeOf(changed)}: ${changedNumberText(changed)}`];
    if (this.faults.length > 0) return;
    roundIntegers(this.document);
    this.value = this.document.toJS(EXPANSION);
  }

  get policies(): readonly unknown[] {
    return this.listOf('policies');
  }

  get tests(): readonly unknown[] {
    return this.listOf('tests');
  }

  /** Place of a member, such as `refunds.yaml:12:5`; of a missing one, where it would belong. */
  placeOf(field: string): string {
    const path = [...field.matchAll(/([^.[\]]+)/g)].map(([, name = '']) => (/^\d+$/.test(name) ? Number(name) : name));
    for (; path.length > 0; path.pop()) {
      const node = this.document.getIn(path, true);
      if (isNode(node) && node.range) return this.placeAt(node.range[0]);
    }
    return this.path;
  }

  private listOf(name: string): readonly unknown[] {
    const value: unknown = typeof this.value === 'object' && this.value !== null ? Reflect.get(this.value, name) : null;
    return Array.isArray(value) ? value : [];
  }

  private placeAt(offset: number): string {
    const { line, col } = this.lines.linePos(offset);
    return `${this.path}:${line}:${col}`;
  }
}

/** Others read a file with this name as JSON, too; and YAML aliases may expand to more than fits in memory. */
function faultsOf(path: string, read: () => unknown): string[] {
  try {
    read();
    return [];
  } catch (error) {
    return [`${path}: ${(error as Error).message}`];
  }
}

/** They are read with all their digits, as bigints, which nobody else understands. */
function roundIntegers(document: Document): void {
  visit(document, {
    Scalar: (_, scalar) => {
      if (typeof scalar.value === 'bigint') scalar.value = Number(scalar.value);
    },
  });
}
