import { extname } from 'node:path';
import { type Document, isNode, isScalar, LineCounter, parseDocument, visit, type YAMLMap } from 'yaml';
import { changedNumberIn, changedNumberText } from '../unsafe-number.js';

/** Aliases may expand to more than fits in memory, and each is looked for in the whole file. */
const MAX_ALIASES = 100;
const EXPANSION = { maxAliasCount: MAX_ALIASES };
/** Most lines of a file in YAML: the time of the parser grows with the square of the number of empty ones. */
export const MAX_LINES = 50_000;

/** One file of policies, tests and agents, in YAML or in JSON, which YAML includes. */
export class PolicyFile {
  /** Reasons why the file is not well-formed, each with its place; the content is not checked. */
  readonly faults: readonly string[];
  /** The content of the file; undefined if there are faults. */
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
    // The schema is the same, whatever version of YAML the file names.
    const schema = 'core';
    const options = {
      lineCounter,
      prettyErrors: false,
      stringKeys: true,
      intAsBigInt: true,
      schema,
      uniqueKeys: false,
    } as const;
    // Tags have no effect, because JSON has none: a value such as a date would reach the service as something else.
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

  /** Returns the place of a member, such as `refunds.yaml:12:5`; of a missing one, the place where it would belong. */
  placeOf(field: string): string {
    const path = [...field.matchAll(/([^.[\]]+)/g)].map(([, name = '']) => (/^\d+$/.test(name) ? Number(name) : name));
    for (; path.length > 0; path.pop()) {
      const node = this.document.getIn(path, true);
      if (isNode(node) && node.range) return this.placeAt(node.range[0]);
    }
    return this.path;
  }

  /** Finds names that are given twice, for which the parser would take the square of the time, and too many aliases. */
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

/**
 * Returns the fault of a task that throws. Other programs read a file named .json as JSON, and aliases of YAML may
 * expand to more than fits in memory.
 */
function faultsOf(path: string, task: () => unknown): string[] {
  try {
    task();
    return [];
  } catch (error) {
    return [`${path}: ${(error as Error).message}`];
  }
}

/** Turns integers into numbers. They were read as bigints, with all their digits, which other code does not expect. */
function roundIntegers(document: Document): void {
  visit(document, {
    Scalar: (_, scalar) => {
      if (typeof scalar.value === 'bigint') scalar.value = Number(scalar.value);
    },
  });
}
