import {
  type Document,
  isMap,
  isNode,
  isScalar,
  LineCounter,
  type Pair,
  parseDocument,
  visit,
  type YAMLMap,
} from 'yaml';
import { MAX_LINES } from '../../policies/policy-file.js';

/** The names and indexes that lead to a part of a file. */
export type FilePath = readonly (string | number)[];

export interface FileFault {
  readonly path: FilePath;
  /** A sentence without its place. */
  readonly message: string;
}

export interface TextPosition {
  readonly line: number;
  readonly column: number;
}

/** A fault of a file with its place. */
export interface PlacedFault extends TextPosition {
  readonly message: string;
}

/** A file in YAML or JSON that says only what JSON can say: no tags, anchors, repeated names or further documents. */
export class FileDocument {
  /** Why the text is not well-formed. */
  readonly faults: readonly PlacedFault[];
  /** Undefined if there are faults. */
  readonly value: unknown;
  private readonly document: Document;
  private readonly lines = new LineCounter();

  /** @param isJson true if other programs read the file as JSON */
  constructor(text: string, isJson: boolean) {
    const isTooLong = text.split('\n', MAX_LINES + 1).length > MAX_LINES;
    this.document = parseDocument(isTooLong ? '' : text, {
      lineCounter: this.lines,
      prettyErrors: false,
      stringKeys: true,
      // The pairs are compared below, in less than the square of the time.
      uniqueKeys: false,
      schema: 'core',
      resolveKnownTags: false,
    });
    if (isTooLong) {
      this.faults = [{ line: MAX_LINES + 1, column: 1, message: `A file may have ${MAX_LINES} lines.` }];
      return;
    }
    const { errors, warnings } = this.document;
    const parsed = [...errors, ...warnings].map(({ message, pos }) => this.placed(pos[0], parserText(message)));
    this.faults = parsed.length > 0 ? parsed : [...this.nodeFaults(), ...(isJson ? jsonFaults(text) : [])];
    if (this.faults.length === 0) this.value = this.document.toJS();
  }

  /** The place of a part, or of what would contain it if it is missing. */
  placeOf(path: FilePath): TextPosition {
    for (let length = path.length; length > 0; length -= 1) {
      const offset = this.offsetOf(path.slice(0, length));
      if (offset !== undefined) return this.placeAt(offset);
    }
    return { line: 1, column: 1 };
  }

  /** Returns the offset of a part in the text: of a member, that of its name. */
  private offsetOf(path: FilePath): number | undefined {
    const parent: unknown = path.length === 1 ? this.document.contents : this.document.getIn(path.slice(0, -1), true);
    const name = path.at(-1);
    if (typeof name === 'number') {
      const node: unknown = this.document.getIn(path, true);
      return isNode(node) ? node.range?.[0] : undefined;
    }
    const pairs = isNode(parent) && 'items' in parent ? (parent.items as unknown as Pair[]) : [];
    const key = pairs.find((pair) => isScalar(pair.key) && pair.key.value === name)?.key;
    return isNode(key) ? key.range?.[0] : undefined;
  }

  private nodeFaults(): PlacedFault[] {
    const faults: PlacedFault[] = [];
    const refuse = (node: { range?: readonly number[] | null | undefined }, message: string): void =>
      void faults.push(this.placed(node.range?.[0] ?? 0, message));
    visit(this.document, {
      Alias: (_, alias) => refuse(alias, 'Aliases are not possible here: write the value out.'),
      Value: (_, node) => {
        if (node.anchor !== undefined) refuse(node, 'Anchors are not possible here: write the value out.');
        if (node.tag !== undefined) refuse(node, `The tag ${node.tag} is not possible here.`);
        if (isScalar(node) && isChangedNumber(node.value))
          refuse(node, 'Expected a number that JSON can hold, or a text in quotes.');
        if (isMap(node)) faults.push(...this.repeatedNames(node));
      },
    });
    return faults;
  }

  private repeatedNames({ items }: YAMLMap): PlacedFault[] {
    const names = new Set<unknown>();
    return items.flatMap(({ key }) => {
      if (!isScalar(key)) return [];
      const isRepeated = names.has(key.value);
      names.add(key.value);
      return isRepeated
        ? [this.placed(key.range?.[0] ?? 0, `The name ${JSON.stringify(key.value)} is there twice.`)]
        : [];
    });
  }

  private placed(offset: number, message: string): PlacedFault {
    return { ...this.placeAt(offset), message };
  }

  private placeAt(offset: number): TextPosition {
    const { line, col } = this.lines.linePos(offset);
    return { line: Math.max(line, 1), column: Math.max(col, 1) };
  }
}

function isChangedNumber(value: unknown): boolean {
  return (
    typeof value === 'number' && (Number.isInteger(value) ? !Number.isSafeInteger(value) : !Number.isFinite(value))
  );
}

function jsonFaults(text: string): PlacedFault[] {
  try {
    JSON.parse(text);
    return [];
  } catch (error) {
    return [
      { line: 1, column: 1, message: `Expected JSON, as the name of the file says: ${(error as Error).message}` },
    ];
  }
}

/** Returns a message of the parser for people: some of its words name functions that they do not know. */
function parserText(message: string): string {
  if (message.startsWith('Source contains multiple documents')) return 'A file has one document: remove this one.';
  if (message.startsWith('Maximum call stack')) return 'This is nested too deep.';
  return /[.!?]$/.test(message) ? message : `${message}.`;
}
