import { extname } from 'node:path';
import { type Document, isNode, isScalar, LineCounter, parseDocument, visit, type YAMLMap } from 'yaml';
import { changedNumberIn, changedNumberText } from '../unsafe-number.js';

/** Aliases may expand to more than fits in memory, and each is looked for in the whole file. */
const MAX_ALIASES = 100;
const EXPANSION = { maxAliasCount: MAX_ALIASES };
/** The parser takes the square of the time for many empty lines. */
const MAX_LINES = 50_000;

/** One file of policies, tests and agents, in YAML or in JSON, which YAML includes. */
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
    if (text.split('\n', MAX_LINES + 1).length > MAX_LINES) {
      this.document = parseDocument('');
      this.faults = [`${path}: has more than ${MAX_LINES} lines. Split it into several files.`];
      return;
    }
    const lineCounter = this.lines;
    // Whatever version of YAML the file says it is.
    const schema = 'core';
    const options = {
      lineCounter,
      prettyErrors: false,
      stringKeys: true,
      intAsBigInt: true,
      schema,
      uniqueKeys: false,
    } as const;
    // Only what JSON has, too: what a tag makes of a value, such as a date, would reach the service as something else.
    this.document = parseDocument(text, { ...options, resolveKnownTags: false });
    const { errors, warnings } = this.document;
    this.faults = [...errors, ...warnings].map(({ message, pos }) => `${this.placeAt(pos[0])}: ${message}`);
    if (this.faults.length === 0) this.faults = this.unexpectedNodes();
    if (this.faults.length > 0) return;
    this.faults = extname(path).toLowerCase() === '.json' ? faultsOf(path, () => JSON.parse(text) as unknown) : [];
    this.faults = [...this.faults, ...faultsOf(path, () => (this.value = this.document.toJS(EXPANSION)))];
    const fault = changedNumberIn(this.value, '');
    if (fault !== undefined) this.faults = [...this.faults, `${this.placeOf(fault)}: ${changedNumberText(fault)}`];
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

  get agents(): readonly unknown[] {
    return this.listOf('agents');
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

  /** Names given twice, which the parser would find in the square of the time, and too many aliases. */
  private unexpectedNodes(): string[] {
    const faults: string[] = [];
    let aliases = 0;
    visit(this.document, {
      Map: (_, map) => void faults.push(...this.namesTwice(map)),
      Alias: () => void (aliases += 1),
    });
    if (aliases > MAX_ALIASES) faults.push(`${this.path}: has ${aliases} aliases, and may have ${MAX_ALIASES}.`);
    return faults;
  }

  private namesTwice({ items }: YAMLMap): string[] {
    const names = new Set<unknown>();
    return items.flatMap(({ key }) => {
      if (!isScalar(key)) return [];
      const isNew = !names.has(key.value);
      names.add(key.value);
      const text = `the name ${JSON.stringify(key.value)} is given twice`;
      return isNew ? [] : [`${this.placeAt(key.range?.[0] ?? 0)}: ${text}`];
    });
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
function faultsOf(path: string, task: () => unknown): string[] {
  try {
    task();
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
