import { generateApiKey, isGuessable, SHORTEST_SAFE_KEY } from './variables/api-key';
import type { Configuration, ConfiguredDatabase } from './configuration';
import type { VariableTable } from './settings-contribution';
import type { Environment, Settings, Variable } from './variables/variable';
import { VARIABLES } from './variables/variables';

const LONGEST_SHOWN = 100;

/** Reads the variables of all tables; throws a ConfigurationError that lists all faults at once. */
export function readTables(environment: Environment, tables: readonly VariableTable[]): Record<string, unknown>[] {
  const faults: string[] = [];
  const read = tables.map((table) => {
    const values: Record<string, unknown> = {};
    for (const [member, variable] of Object.entries(table)) {
      const text = textOf(variable, environment);
      const value = variable.parse(text);
      if (value === undefined || isRefusedInProduction(variable, text, environment))
        faults.push(faultLine(variable, text));
      else if (isWithoutEffect(variable, environment)) faults.push(withoutEffectLine(variable, text));
      values[member] = value;
    }
    return values;
  });
  if (faults.length > 0) throw new ConfigurationError(faults);
  return read;
}

/** Reads only the variables of the service itself; throws a ConfigurationError that lists all faults at once. */
export function readConfiguration(environment: Environment): Configuration {
  const [settings] = readTables(environment, [VARIABLES]);
  // Complete and of the right types, because the table has a row of the right type for every member.
  return withApiKey(settings as unknown as Settings);
}

/** Where the records are kept, whatever the other variables say; throws a ConfigurationError. */
export function readDatabase(environment: Environment): ConfiguredDatabase {
  const text = textOf(VARIABLES.database, environment);
  const database = VARIABLES.database.parse(text);
  if (database === undefined) throw new ConfigurationError([faultLine(VARIABLES.database, text)]);
  return database;
}

/** Settings that work but should be changed, one sentence each. */
export function configurationWarnings({ apiKey, apiKeyPrevious }: Configuration): string[] {
  const shortKeys = [
    ...(isGuessable(apiKey) ? ['API_KEY'] : []),
    ...(isGuessable(apiKeyPrevious ?? '') ? ['API_KEY_PREVIOUS'] : []),
  ];
  return shortKeys.map(
    (name) =>
      `${name} has fewer than ${SHORTEST_SAFE_KEY} characters and can be guessed. Generate one with: openssl rand -hex 32`,
  );
}

function textOf(variable: Variable<unknown>, environment: Environment): string {
  const given = environment[variable.name] ?? '';
  if (given !== '') return given;
  const isTest = environment[VARIABLES.nodeEnvironment.name] === 'test';
  return (isTest ? variable.defaultInTest?.() : undefined) ?? variable.default;
}

function isRefusedInProduction(variable: Variable<unknown>, text: string, environment: Environment): boolean {
  if (environment[VARIABLES.nodeEnvironment.name] !== 'production') return false;
  const isMissing = text === '' && variable.requiredInProduction?.(environment) === true;
  return isMissing || variable.refusedInProduction?.(text) === true;
}

function isWithoutEffect({ name, onlyWith }: Variable<unknown>, environment: Environment): boolean {
  const isGiven = (other: string): boolean => (environment[other] ?? '') !== '';
  return onlyWith !== undefined && isGiven(name) && !isGiven(onlyWith);
}

function withoutEffectLine({ name, onlyWith = '', mask = JSON.stringify }: Variable<unknown>, text: string): string {
  return `${name}: got ${shorten(mask(text))}, which has no effect without ${onlyWith}; set ${onlyWith} or remove it`;
}

/** One line: name, actual value unless it is secret, what is expected, an example. */
function faultLine(variable: Variable<unknown>, text: string): string {
  const { name, mask = JSON.stringify, explain, expected, example } = variable;
  const got = text === '' ? 'nothing, although NODE_ENV is production' : shorten(mask(text));
  const reason = explain?.(text);
  return `${name}: got ${got}${reason === undefined ? '' : ` (${reason})`}; expected ${expected}; example: ${name}=${example}`;
}

function shorten(text: string): string {
  return text.length <= LONGEST_SHOWN ? text : `${text.slice(0, LONGEST_SHOWN)}…`;
}

/** Generates a key if none was given. */
export function withApiKey(settings: Settings): Configuration {
  const apiKeyGenerated = settings.apiKey === '';
  return { ...settings, apiKeyGenerated, apiKey: apiKeyGenerated ? generateApiKey() : settings.apiKey };
}

/** The environment is invalid. `faults` has one printable line for each faulty variable, without secrets. */
export class ConfigurationError extends Error {
  constructor(readonly faults: readonly string[]) {
    super(`The configuration is invalid:\n${faults.map((fault) => `  ${fault}`).join('\n')}`);
    this.name = 'ConfigurationError';
  }
}
