# Prints what Godot 3 has imported of a .glb: each clip, whether it loops, and how long it is.
extends SceneTree

func _init():
	var node = load("res://out.glb").instance()
	var waiting = [node]
	while waiting:
		var each = waiting.pop_back()
		if each is AnimationPlayer:
			for name in each.get_animation_list():
				var clip = each.get_animation(name)
				print("CLIP ", name, "|", clip.loop, "|", clip.length)
		for child in each.get_children():
			waiting.append(child)
	quit()
