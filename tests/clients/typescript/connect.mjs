// The two clients behind one door, and a record of every message that the server sent them.

import { appendFileSync } from "node:fs";
import { createTaskSessionFromClient } from "@modelcontextprotocol/ext-tasks/client";
import * as v1 from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as TransportV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import * as types from "@modelcontextprotocol/sdk/types.js";
import * as v2 from "@modelcontextprotocol/client";

const INFO = { name: "tour", version: "1.0.0" };

/**
 * A connected client. `flavour` is "sdk-v1", "client-v2" (2026-07-28) or "client-v2-legacy"; `capabilities` are what it
 * declares, `token` goes into the Authorization header where there is one, `authProvider` gets one where there is none.
 * `prepare(client)` sets handlers before it connects. What the server answers goes to `record`, a file of one JSON object
 * a line, unless `fetch` is the caller's own.
 */
export async function connect(flavour, url, { record, fetch = recorded(record), ...more }) {
  const { token = "", authProvider, capabilities = {}, prepare = () => {} } = more;
  const requestInit = token ? { headers: { Authorization: `Bearer ${token}` } } : {};
  const mode = flavour === "client-v2" ? { pin: "2026-07-28" } : "legacy";
  const client =
    flavour === "sdk-v1"
      ? new v1.Client(INFO, { capabilities })
      : new v2.Client(INFO, { capabilities, versionNegotiation: { mode } });
  await prepare(client);
  await client.connect(transport(flavour, url, { requestInit, fetch, authProvider }));
  return client;
}

/** A client's way to the server, not opened yet. */
export function transport(flavour, url, options) {
  const Transport = flavour === "sdk-v1" ? TransportV1 : v2.StreamableHTTPClientTransport;
  return new Transport(new URL(url), options);
}

/** A session of the extension for tasks around a client of 2026-07-28. The package leaves the sending to its user. */
export function taskSession(client, url, { record }) {
  const send = recorded(record);
  let id = 1000;
  const rawDispatch = async (request) => {
    const { name, taskId } = request.params;
    const headers = {
      "Content-Type": "application/json",
      Accept: "application/json, text/event-stream",
      "MCP-Protocol-Version": "2026-07-28",
      "Mcp-Method": request.method,
      "Mcp-Name": taskId ?? name,
    };
    const body = JSON.stringify({ jsonrpc: "2.0", id: (id += 1), ...request });
    const answer = await send(url, { method: "POST", headers, body });
    return answer.json();
  };
  const v2RequestFraming = { protocolVersion: "2026-07-28", clientInfo: INFO, clientCapabilities: {} };
  return createTaskSessionFromClient(client, { endpointId: "tour", rawDispatch, v2RequestFraming });
}

// The first client wants a schema where the second one takes the method's name.
const SCHEMAS = {
  "elicitation/create": types.ElicitRequestSchema,
  "notifications/message": types.LoggingMessageNotificationSchema,
  "roots/list": types.ListRootsRequestSchema,
  "sampling/createMessage": types.CreateMessageRequestSchema,
};

/** Let a client answer what the server asks by a method, with what `handler(params)` gives. */
export function answer(client, method, handler) {
  client.setRequestHandler(client instanceof v1.Client ? SCHEMAS[method] : method, async (request) =>
    handler(request.params),
  );
}

/** Let a client hear a notification of the server. */
export function hear(client, method, handler) {
  client.setNotificationHandler(client instanceof v1.Client ? SCHEMAS[method] : method, (notification) =>
    handler(notification.params),
  );
}

/** A fetch that notes what was asked (its method and version), and each message that came back. */
function recorded(file) {
  return async (url, init) => {
    const asked = init?.method === "POST" ? JSON.parse(init.body) : {};
    const answer = await fetch(url, init);
    const sent = new Headers(init?.headers);
    const note = (message) =>
      appendFileSync(
        file,
        JSON.stringify({
          http: init?.method ?? "GET",
          status: answer.status,
          version: sent.get("MCP-Protocol-Version"),
          asked: asked.method ?? "",
          message,
        }) + "\n",
      );
    const type = answer.headers.get("Content-Type") ?? "";
    if (type.startsWith("text/event-stream")) {
      const [theirs, ours] = answer.body.tee();
      follow(ours, note).catch(() => {}); // a client may hang up in the middle
      return new Response(theirs, { status: answer.status, headers: answer.headers });
    }
    const text = await answer.clone().text();
    note(text ? JSON.parse(text) : null);
    return answer;
  };
}

async function follow(body, note) {
  let rest = "";
  for await (const piece of body.pipeThrough(new TextDecoderStream())) {
    const events = (rest + piece).split("\n\n");
    rest = events.pop();
    for (const event of events) {
      const data = event.split("\n").filter((line) => line.startsWith("data:"));
      if (data.length) note(JSON.parse(data.map((line) => line.slice(5).trimStart()).join("\n")));
    }
  }
}
