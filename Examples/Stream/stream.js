/**
 * How a page follows a person's screens; a browser's EventSource cannot send the header Authorization. Each
 * event replaces what the page shows, and after a tunnel exactly what has changed meanwhile comes.
 *
 *   follow("https://api.example", token, (name, screen) => render(name, screen), { watch: ["/v1/posts/p1"] });
 *
 * @param {(name: string, screen: any) => void} show name: badge, alarms, conversations, or a path of `watch`
 */
export async function follow(address, token, show, { watch = [], signal } = {}) {
  const query = watch.length ? `?watch=${encodeURIComponent(watch.join(","))}` : "";
  let lastEventID = "";
  let retry = 1000;
  for (let failures = 0; !signal?.aborted;) {
    const connection = new AbortController();
    let silence;
    // A comment comes every 15 s.
    const hear = () => {
      clearTimeout(silence);
      silence = setTimeout(() => connection.abort(), 40_000);
    };
    const stop = () => connection.abort();
    signal?.addEventListener("abort", stop);
    try {
      hear();
      const headers = { Authorization: `Bearer ${token}` };
      if (lastEventID) headers["Last-Event-ID"] = lastEventID;
      const answer = await fetch(`${address}/v1/stream${query}`, {
        headers, cache: "no-store", signal: connection.signal,
      });
      if (answer.status === 401) throw new DOMException("The token is not valid.", "NotAllowedError");
      if (!answer.ok) throw new Error(`status ${answer.status}`);
      const text = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = "";
      for (let part = await text.read(); !part.done; part = await text.read()) {
        hear();
        failures = 0;
        const events = (rest + part.value).split("\n\n");
        rest = events.pop();
        for (const event of events) {
          const fields = Object.fromEntries(event.split("\n").map((line) => {
            const colon = line.indexOf(":");
            return [line.slice(0, colon), line.slice(colon + 2)];
          }));
          retry = Number(fields.retry ?? retry);
          if (!fields.data) continue;
          const data = JSON.parse(fields.data);
          if (fields.event === "watched") show(data.path, data.screen);
          else show(fields.event, data);
          lastEventID = fields.id;
        }
      }
    } catch (error) {
      if (error.name === "NotAllowedError") throw error;
      failures += 1;
    } finally {
      clearTimeout(silence);
      signal?.removeEventListener("abort", stop);
    }
    // Later and later while it fails, and not when all others do.
    const pause = retry * 2 ** Math.min(failures, 5) * (0.5 + Math.random() / 2);
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}
