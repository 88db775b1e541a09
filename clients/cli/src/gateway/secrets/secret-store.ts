import { readSecret, SecretFault, type SecretSource, sourceLabel } from './secret-value.js';

/** Milliseconds between two readings of the files, so that a change takes effect within ten seconds. */
const REREAD_MS = 5_000;
const MAX_EARLIER_VALUES = 10;
/**
 * Minimum number of values of earlier configuration files that are remembered, however few secrets the new file has.
 */
const MIN_DROPPED_VALUES = 100;

export interface SecretStoreOptions {
  readonly environment: NodeJS.ProcessEnv;
  /** Called once for each change that makes a file unusable. The last value stays in use. */
  readonly onFault: (fault: SecretFault) => void;
  readonly rereadMs?: number;
  /** The store of the previous configuration file: answers may still contain its values. */
  readonly replaced?: SecretStore;
}

interface StoredSecret {
  readonly source: SecretSource;
  value: string;
  /** Earlier values of the secret, newest first: an answer may still contain them. */
  earlierValues: readonly string[];
  /** Message of the fault of the last reading; null if there was none. */
  fault: string | null;
}

/** All faults of the secrets of a file. */
export class SecretFaults extends Error {
  constructor(readonly faults: readonly SecretFault[]) {
    super(faults.map(({ message }) => message).join('\n'));
    this.name = 'SecretFaults';
  }
}

/** The values of all secrets, which files may change while the gateway runs. */
export class SecretStore {
  private readonly secrets: ReadonlyMap<string, StoredSecret>;
  private readonly timer: NodeJS.Timeout;
  private reading: Promise<void> | null = null;
  private changes = 0;
  /** The store of the next configuration file; null while this one is in use. */
  private successor: SecretStore | null = null;

  private constructor(
    secrets: readonly StoredSecret[],
    private readonly options: SecretStoreOptions,
    /**
     * Values of earlier configuration files that this one lacks, newest first: requests that began with those files may
     * still run.
     */
    private readonly droppedValues: readonly string[],
  ) {
    this.secrets = new Map(secrets.map((secret) => [sourceLabel(secret.source), secret]));
    this.timer = setInterval(() => void this.reread(), options.rereadMs ?? REREAD_MS).unref();
  }

  /** @throws SecretFaults if a secret is missing or cannot be a credential. */
  static async open(sources: readonly SecretSource[], allOptions: SecretStoreOptions): Promise<SecretStore> {
    // The replaced store is not referenced any longer, so that its memory is freed.
    const { replaced, ...options } = allOptions;
    const unique = [...new Map(sources.map((source) => [sourceLabel(source), source])).values()];
    const results = await Promise.allSettled(unique.map((source) => readSecret(source, options.environment)));
    const faults: SecretFault[] = [];
    const secrets: StoredSecret[] = [];
    for (const [index, source] of unique.entries()) {
      const result = results[index];
      if (result?.status === 'fulfilled') {
        const { value } = result;
        const earlierValues = replaced?.valuesBefore(source, value) ?? [];
        secrets.push({ source, value, earlierValues, fault: null });
      } else if (result?.reason instanceof SecretFault) faults.push(result.reason);
      else throw result?.reason;
    }
    if (faults.length > 0) throw new SecretFaults(faults);
    const values = new Set(secrets.map(({ value }) => value));
    const maxBefore = Math.max(MIN_DROPPED_VALUES, MAX_EARLIER_VALUES * unique.length);
    const before = replaced?.valuesOfFiles(maxBefore) ?? [];
    const dropped = before.filter((value) => !values.has(value));
    return new SecretStore(secrets, options, dropped);
  }

  /** Number that grows whenever a value changes, in this store or in one that has replaced it. */
  get version(): number {
    return this.changes + (this.successor === null ? 0 : 1 + this.successor.version);
  }

  /** Notes the store that replaces this one. Requests that began with this one may still run. */
  replace(successor: SecretStore): void {
    this.successor = successor;
  }

  value(source: SecretSource): string {
    return this.requireSecret(source).value;
  }

  /** The value, and the last ten before it. */
  recentValues(source: SecretSource): string[] {
    return valuesOf(this.requireSecret(source));
  }

  /**
   * Returns the values that requests of other configuration files send, earlier or later ones: an answer may contain
   * them.
   */
  otherValues(): string[] {
    const later = this.successor === null ? [] : [...this.successor.values(), ...this.successor.otherValues()];
    return [...this.droppedValues, ...later];
  }

  private values(): string[] {
    return [...this.secrets.values()].flatMap(valuesOf);
  }

  /** All values of this file, and some of those of the files before it. */
  private valuesOfFiles(maxBefore: number): string[] {
    return [...new Set([...this.values(), ...this.droppedValues.slice(0, maxBefore)])];
  }

  /** Returns the last values of a source that differ from `value`, newest first. */
  private valuesBefore(source: SecretSource, value: string): readonly string[] {
    const secret = this.secrets.get(sourceLabel(source));
    return secret === undefined ? [] : withoutValue(valuesOf(secret), value);
  }

  close(): void {
    clearInterval(this.timer);
  }

  private requireSecret(source: SecretSource): StoredSecret {
    const secret = this.secrets.get(sourceLabel(source));
    if (secret === undefined) throw new Error(`${sourceLabel(source)} is not among the secrets that were read.`);
    return secret;
  }

  /** Reads all files again, unless a reading is still running: on a slow disk it may take long. */
  private async reread(): Promise<void> {
    if (this.reading !== null) return;
    const files = [...this.secrets.values()].filter(({ source }) => 'file' in source);
    this.reading = Promise.all(files.map((secret) => this.rereadOne(secret))).then(() => {
      this.reading = null;
    });
    await this.reading;
  }

  private async rereadOne(secret: StoredSecret): Promise<void> {
    try {
      const value = await readSecret(secret.source, this.options.environment);
      secret.fault = null;
      if (value === secret.value) return;
      secret.earlierValues = withoutValue(valuesOf(secret), value);
      secret.value = value;
      this.changes += 1;
    } catch (error) {
      const fault = error instanceof SecretFault ? error : new SecretFault(secret.source, 'cannot be read.');
      if (fault.message === secret.fault) return;
      secret.fault = fault.message;
      this.options.onFault(fault);
    }
  }
}

function valuesOf({ value, earlierValues }: StoredSecret): string[] {
  return [value, ...earlierValues];
}

function withoutValue(values: readonly string[], value: string): readonly string[] {
  return values.filter((earlierValue) => earlierValue !== value).slice(0, MAX_EARLIER_VALUES);
}
