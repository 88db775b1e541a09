import { dropPostgresDatabases } from './database-server';

/** Jest calls it once, after the last test of the run. */
export default dropPostgresDatabases;
