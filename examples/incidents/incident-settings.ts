import { type SettingRows, wholeNumber } from '../core/config/variables/variable';

export abstract class IncidentSettings {
  /** Records that one incident may have spoilt. */
  abstract readonly mostAffected: number;
}

export const INCIDENT_VARIABLES: SettingRows<IncidentSettings> = {
  mostAffected: {
    name: 'INCIDENT_MOST_AFFECTED',
    description: 'Records that one incident may have spoilt.',
    default: '1000000',
    example: '5000',
    ...wholeNumber(1, 2_000_000_000),
  },
};
