// Keys and wheels over a picture that can be moved and zoomed.

export interface Camera {
  /** Moves the window by parts of its width and height. */
  pan(across: number, up: number): void;
  zoom(factor: number): void;
  reset(): void;
}

/** Keys move the camera, and do what else they are for, while the host itself has the focus. */
export function onKeys(host: HTMLElement, camera: Camera, others: Record<string, () => void> = {}): void {
  const actions: Record<string, () => void> = {
    ArrowLeft: () => camera.pan(-0.1, 0),
    ArrowRight: () => camera.pan(0.1, 0),
    ArrowUp: () => camera.pan(0, 0.1),
    ArrowDown: () => camera.pan(0, -0.1),
    '+': () => camera.zoom(0.8),
    '=': () => camera.zoom(0.8),
    '-': () => camera.zoom(1.25),
    '0': () => camera.reset(),
    ...others,
  };
  host.addEventListener('keydown', (event) => {
    if (event.target !== host || event.ctrlKey || event.metaKey || event.altKey) return;
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
}

/** The wheel over an element zooms; it belongs to the page until the host has been clicked. */
export function onWheel(over: HTMLElement, host: HTMLElement, zoom: (factor: number, event: WheelEvent) => void): void {
  over.addEventListener('wheel', (event) => {
    if (!event.ctrlKey && document.activeElement !== host) return;
    event.preventDefault();
    zoom(Math.exp(event.deltaY * 0.0015), event);
  }, { passive: false });
}
