import type { Settings } from './variables/variables';

/** A class with a member for each row of the table: a type alone could not be injected. */
const SettingsClass = Object as unknown as abstract new () => Settings;

/** The validated environment: the only source of settings, and the token by which to inject it. */
export abstract class Configuration extends SettingsClass {
  /** True if no API_KEY was given and a random one was generated for this run. */
  abstract readonly apiKeyGenerated: boolean;
}

/**
 * Returns the texts that no log line, response or audit entry may show: keys, and passwords inside URLs, as written and
 * decoded.
 */
export function secretsOf(configuration: Configuration): string[] {
  const { apiKey, apiKeyPrevious, slackSigningSecret, database, redisUrl, smtpUrl } = configuration;
  const { signingKey, permitKey, secretKey } = configuration;
  const urls = [database.kind === 'postgres' ? database.url : null, redisUrl, smtpUrl];
  const keys = [signingKey, permitKey, secretKey].map((key) => key?.toString('base64') ?? null);
  const secrets = [apiKey, apiKeyPrevious, slackSigningSecret, ...keys, ...urls.flatMap(passwordForms)];
  return secrets.filter((secret): secret is string => secret !== null && secret !== '');
}

function passwordForms(url: string | null): string[] {
  if (url === null) return [];
  const { password } = new URL(url);
  return [password, decodeURIComponent(password)];
}
