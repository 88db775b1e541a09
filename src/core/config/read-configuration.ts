import { randomBytes } from 'node:crypto';
import type { Configuration } from './configuration';
import { editsBetween } from '../values/edits';
import type { ConfiguredDatabase } from './variables/database-url';
import {
  type Environment,
  isGuessable,
  MIN_SAFE_KEY_CHARACTERS,
  type Variable,
  type VariableTable,
} from './variables/variable';
import { type Settings, VARIABLES } from './variables/variables';

const MAX_SHOWN_CHARACTERS = 100;

/** Reads the variables of all tables; throws a ConfigurationError that lists all faults at once. */
function readTables(environment: Environment, tables: readonly VariableTable[]): Record<string, unknown>[] {
  const faults: string[] = [];
  const read = tables.map((table) => {
    const values: Record<string, unknown> = {};
    for (const [member, variable] of Object.entries(table)) {
      const text = variableText(variable, environment);
      const fault = faultOf(variable, text, environment);
      if (fault !== null) faults.push(fault);
      values[member] = variable.parse(text);
    }
    return values;
  });
  if (faults.length > 0) throw new ConfigurationError(faults);
  return read;
}

/** Reads the location of the records; other variables may be invalid. @throws ConfigurationError */
export function readDatabase(environment: Environment): ConfiguredDatabase {
  const text = variableText(VARIABLES.database, environment);
  const database = VARIABLES.database.parse(text);
  if (database === undefined) throw new ConfigurationError([faultLine(VARIABLES.database, text)]);
  return database;
}

/** Reads some of the settings; other variables may be invalid. @throws ConfigurationError */
export function readMembers<Member extends keyof Settings>(
  environment: Environment,
  members: readonly Member[],
): Pick<Settings, Member> {
  const table = Object.fromEntries(members.map((member) => [member, VARIABLES[member]]));
  const [values = {}] = readTables(environment, [table]);
  return values as Pick<Settings, Member>;
}

/** Settings that work but should be changed, one sentence each. */
export function configurationWarnings({ apiKey, apiKeyPrevious }: Configuration): string[] {
  const keys = Object.entries({ API_KEY: apiKey, API_KEY_PREVIOUS: apiKeyPrevious ?? '' });
  const guessable = keys.filter(([, key]) => isGuessable(key));
  return guessable.map(
    ([name]) =>
      `${name} has fewer than ${MIN_SAFE_KEY_CHARACTERS} characters and can be guessed. Generate one with: openssl rand -hex 32`,
  );
}

function variableText(variable: Variable<unknown>, environment: Environment): string {
  const text = environment[variable.name] ?? '';
  if (text !== '') return text;
  const isTest = environment[VARIABLES.nodeEnvironment.name] === 'test';
  return (isTest ? variable.defaultInTest?.() : undefined) ?? variable.default;
}

/** Returns the fault of a setting in one line; null if it is valid. */
function faultOf(variable: Variable<unknown>, text: string, environment: Environment): string | null {
  const { name, onlyWith, mask = JSON.stringify } = variable;
  if (variable.parse(text) === undefined || isRefusedInProduction(variable, text, environment))
    return faultLine(variable, text);
  const missing = text === '' ? variable.requiredWith?.(environment) : undefined;
  if (missing !== undefined) return faultLine(variable, text, missing);
  const isGiven = (other: string): boolean => (environment[other] ?? '') !== '';
  if (onlyWith !== undefined && isGiven(name) && !isGiven(onlyWith))
    return `${name}: got ${shorten(mask(text))}, which has no effect without ${onlyWith}; set ${onlyWith} or remove it`;
  const contradiction = variable.contradiction?.(text, environment);
  return contradiction === undefined ? null : `${name}: got ${shorten(mask(text))}, ${contradiction}`;
}

function isRefusedInProduction(variable: Variable<unknown>, text: string, environment: Environment): boolean {
  if (environment[VARIABLES.nodeEnvironment.name] !== 'production') return false;
  const isMissing = text === '' && variable.requiredInProduction?.(environment) === true;
  return isMissing || variable.refusedInProduction?.(text) === true;
}

/** Describes a fault in one line: name, actual value unless it is secret, what is expected, an example. */
function faultLine(variable: Variable<unknown>, text: string, missing = 'although NODE_ENV is production'): string {
  const { name, mask = JSON.stringify, explain, expected, example = variable.default } = variable;
  const got = text === '' ? `nothing, ${missing}` : shorten(mask(text));
  const reason = explain?.(text);
  return `${name}: got ${got}${reason === undefined ? '' : ` (${reason})`}; expected ${expected}; example: ${name}=${example}`;
}

function shorten(text: string): string {
  return text.length <= MAX_SHOWN_CHARACTERS ? text : `${text.slice(0, MAX_SHOWN_CHARACTERS)}…`;
}

/** Generates a key if none was given. */
function withApiKey(settings: Settings): Configuration {
  const apiKeyGenerated = settings.apiKey === '';
  return { ...settings, apiKeyGenerated, apiKey: apiKeyGenerated ? randomBytes(24).toString('hex') : settings.apiKey };
}

/** The environment is invalid. `faults` has one printable line for each faulty variable, without secrets. */
export class ConfigurationError extends Error {
  constructor(readonly faults: readonly string[]) {
    super(`The configuration is invalid:\n${faults.map((fault) => `  ${fault}`).join('\n')}`);
    this.name = 'ConfigurationError';
  }
}

/** Minimum length of a checked name: a shorter one, such as `Host`, may belong to another program. */
const MIN_CHECKED_CHARACTERS = 7;

/** A warning for each variable that is set but not read, and whose name differs in one letter from one that is read. */
export function nearMissWarnings(environment: Environment, names: readonly string[]): string[] {
  const unread = Object.keys(environment).filter((name) => (environment[name] ?? '') !== '' && !names.includes(name));
  return unread.flatMap((name) => {
    const upperName = name.toUpperCase();
    const candidate = names.find(
      (read) =>
        read.length >= MIN_CHECKED_CHARACTERS && mayBeNear(upperName, read) && editsBetween(upperName, read, 1) <= 1,
    );
    return candidate === undefined ? [] : [`${name} is set, but nothing reads it. Did you mean ${candidate}?`];
  });
}

/**
 * Quick test before the costly one: an edit changes the first or the last letter, not both. Comparing every pair of
 * names would add 20 ms to each start.
 */
function mayBeNear(name: string, read: string): boolean {
  return Math.abs(read.length - name.length) <= 1 && (read.startsWith(name.charAt(0)) || read.endsWith(name.slice(-1)));
}

/** The settings of a module. Provided as a value, and read together with those of the service. */
export class SettingsContribution {
  constructor(readonly rows: VariableTable) {}
}

/** All settings, those of the service and those of each module, read together. */
export class ReadSettings {
  private constructor(
    readonly configuration: Configuration,
    private readonly moduleSettings: ReadonlyMap<SettingsContribution, object>,
    /** Settings that work but should be changed, one sentence each. */
    readonly warnings: readonly string[],
  ) {}

  /** @throws ConfigurationError with the faults of all settings; Error if two modules read the same variable */
  static from(environment: Environment, contributions: readonly SettingsContribution[]): ReadSettings {
    const tables: VariableTable[] = [VARIABLES, ...contributions.map(({ rows }) => rows)];
    const names = tables.flatMap((table) => Object.values(table).map(({ name }) => name));
    refuseSharedNames(names);
    const [own, ...others] = readTables(environment, tables);
    // Complete and of the right types, because each table has a row of the right type for every member.
    const configuration = withApiKey(own as unknown as Settings);
    const moduleSettings = new Map(contributions.map((contribution, index) => [contribution, others[index] ?? {}]));
    const warnings = [...configurationWarnings(configuration), ...nearMissWarnings(environment, names)];
    return new ReadSettings(configuration, moduleSettings, warnings);
  }

  read(contribution: SettingsContribution): object {
    return this.moduleSettings.get(contribution) ?? {};
  }
}

function refuseSharedNames(names: readonly string[]): void {
  const shared = names.find((name, index) => names.indexOf(name) < index);
  if (shared === undefined) return;
  throw new Error(`Two settings are read from ${shared}: give the one of your module another name.`);
}
