import type { Variable } from './variables/variable';

/** A row for each member of a module's settings. */
export type SettingRows<Values> = { readonly [Member in keyof Values]: Variable<Values[Member]> };

/** Variables by the member that each is read into. */
export type VariableTable = Readonly<Record<string, Variable<unknown>>>;

/** The settings of a module. Provided as a value, and read together with those of the service. */
export class SettingsContribution {
  constructor(readonly rows: VariableTable) {}
}
