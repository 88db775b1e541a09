import express, { type Request, type Response } from 'express';
import { SAMPLE_ENTITY } from './sample-entity';

/** The smallest Express server that reads a JSON body, with Express's own defaults. */
const application = express();
application.use(express.json());
application.post('/api/v1/entities', (request: Request, response: Response) => {
  response.status(201).json(request.body);
});
application.get('/api/v1/entities/:id', (_request: Request, response: Response) => {
  response.json(SAMPLE_ENTITY);
});
application.listen(Number(process.env['PORT']), '127.0.0.1');
