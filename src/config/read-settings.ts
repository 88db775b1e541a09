import type { Configuration } from './configuration';
import { nearMissWarnings } from './near-misses';
import { configurationWarnings, readTables, withApiKey } from './read-configuration';
import type { SettingsContribution, VariableTable } from './settings-contribution';
import type { Environment, Settings } from './variables/variable';
import { VARIABLES } from './variables/variables';

/** All settings, those of the service and those of each module, read together. */
export class ReadSettings {
  private constructor(
    readonly configuration: Configuration,
    private readonly ofModules: ReadonlyMap<SettingsContribution, object>,
    /** Settings that work but should be changed, one sentence each. */
    readonly warnings: readonly string[],
  ) {}

  /** @throws ConfigurationError that lists the faults of all; an Error if two of them read the same variable. */
  static from(environment: Environment, contributions: readonly SettingsContribution[]): ReadSettings {
    const tables: VariableTable[] = [VARIABLES, ...contributions.map(({ rows }) => rows)];
    const names = tables.flatMap((table) => Object.values(table).map(({ name }) => name));
    refuseSharedNames(names);
    const [own, ...others] = readTables(environment, tables);
    // Complete and of the right types, because each table has a row of the right type for every member.
    const configuration = withApiKey(own as unknown as Settings);
    const ofModules = new Map(contributions.map((found, index) => [found, others[index] ?? {}]));
    const warnings = [...configurationWarnings(configuration), ...nearMissWarnings(environment, names)];
    return new ReadSettings(configuration, ofModules, warnings);
  }

  of(contribution: SettingsContribution): object {
    return this.ofModules.get(contribution) ?? {};
  }
}

function refuseSharedNames(names: readonly string[]): void {
  const shared = names.find((name, index) => names.indexOf(name) < index);
  if (shared === undefined) return;
  throw new Error(`Two settings are read from ${shared}: give the one of your module another name.`);
}
